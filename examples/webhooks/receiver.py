"""A small receiver of webhooks: writes down what came, in order, and refuses bob's second order until the file `mended` is there."""

import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        order = self.rfile.read(int(self.headers["content-length"])).decode()
        customer = self.path.strip("/")
        refused = customer == "bob" and order == "2" and not os.path.exists("mended")
        with open(f"{customer}.txt", "a") as came:
            came.write(f"{order} {'refused' if refused else 'taken'}\n")
        self.send_response(500 if refused else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
print(server.server_port, flush=True)
server.serve_forever()
