use crate::place::Place;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;

#[tokio::test]
async fn it_serves_on_a_socket_until_it_is_told_to_stop() {
    let place = Place::open();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let shutdown = async { drop(stopped.await) };
    let serving = tokio::spawn(stepfast_server::serve(listener, place.site(), shutdown));
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET /livez HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.ends_with("ok\n"), "{answer}");
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
    place.close().await;
}
