"""Signs a body as Standard Webhooks has it, and prints the headers as curl takes them: sign.py SECRET ID < body"""

import base64
import hashlib
import hmac
import sys
import time

secret, message = sys.argv[1:]
body = sys.stdin.buffer.read()
at = str(int(time.time()))
key = base64.b64decode(secret.removeprefix("whsec_"))
signature = base64.b64encode(hmac.new(key, f"{message}.{at}.".encode() + body, hashlib.sha256).digest()).decode()
print(f"webhook-id: {message}\nwebhook-timestamp: {at}\nwebhook-signature: v1,{signature}\ncontent-type: application/json")
