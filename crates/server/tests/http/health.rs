use crate::place::Place;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use store::SimClock;
use tokio::net::TcpListener;

#[tokio::test]
async fn a_server_that_works_is_ready() {
    let place = Place::open();
    assert_eq!(place.get("/livez").await.text(), "ok\n");
    assert_eq!(place.get("/readyz").await.ok()["ready"], true);
    place.close().await;
}

#[tokio::test]
async fn while_the_database_opens_the_process_lives_and_is_not_ready() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (open, opened) = tokio::sync::oneshot::channel::<u8>();
    let asked = async {
        let said = |path: &'static str| asked(address, path);
        let (live, ready, work) = (said("/livez").await, said("/readyz").await, said("/v1/steps").await);
        open.send(7).unwrap();
        (live, ready, work)
    };
    let network = stepfast_server::Network::default();
    let (came, (live, ready, work)) =
        tokio::join!(stepfast_server::while_opening(&listener, &network, opened), asked);
    assert_eq!(came, Ok(7));
    assert!(live.starts_with("HTTP/1.1 200") && live.ends_with("ok\n"), "{live}");
    for not_yet in [ready, work] {
        assert!(not_yet.starts_with("HTTP/1.1 503") && not_yet.contains("migrating"), "{not_yet}");
        assert!(not_yet.contains("\"code\":\"not_ready\""), "{not_yet}");
    }
    // The socket is as it was for whoever serves next.
    let next = tokio::spawn(async move { listener.accept().await.map(drop) });
    tokio::net::TcpStream::connect(address).await.unwrap();
    next.await.unwrap().unwrap();
}

/// What is answered to one question, to the letter.
async fn asked(address: std::net::SocketAddr, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let text = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_file_that_is_gone_is_not_ready_and_says_so() {
    let place = Place::open();
    place.get("/v1/steps").await.ok();
    std::fs::rename(place.file(), place.dir.path().join("away.db")).unwrap();
    let problem = place.get("/readyz").await.refused(503, "not_ready");
    assert!(
        problem["detail"].as_str().unwrap().contains("the database cannot be read: there is no database at")
    );
    assert_eq!(place.get("/livez").await.status, 200, "a restart would not help");
    std::fs::rename(place.dir.path().join("away.db"), place.file()).unwrap();
    assert_eq!(place.get("/readyz").await.ok()["ready"], true);
    place.close().await;
}

#[tokio::test]
async fn a_server_that_stops_is_alive_and_not_ready() {
    let place = Place::open();
    place.engine.announce_stop();
    let problem = place.get("/readyz").await.refused(503, "not_ready");
    assert!(problem["detail"].as_str().unwrap().contains("it is stopping"), "{problem}");
    assert_eq!(place.get("/livez").await.text(), "ok\n");
    place.close().await;
}

#[tokio::test]
async fn a_file_that_a_newer_program_has_migrated_is_not_ready() {
    let place = Place::open();
    assert_eq!(place.get("/readyz").await.ok()["ready"], true);
    let change = |text: &str| {
        let file = rusqlite::Connection::open(place.file()).unwrap();
        file.execute_batch(text).unwrap();
    };
    change("insert into migrations (number, name, checksum, applied_at) values (99, '0099_future', 'x', 0)");
    let problem = place.get("/readyz").await.refused(503, "not_ready");
    assert!(problem["detail"].as_str().unwrap().contains("which this program does not know"), "{problem}");
    assert_eq!(place.get("/livez").await.status, 200);
    change("delete from migrations where number = 99");
    assert_eq!(place.get("/readyz").await.ok()["ready"], true);
    place.close().await;
}

#[tokio::test]
async fn a_server_where_work_waits_and_nothing_ends_is_not_ready_until_something_does() {
    let clock = SimClock::default();
    let mut place = Place::at(Arc::new(clock.clone()));
    place.create(r#"[{"action": "noop"}]"#).await;
    assert_eq!(place.get("/readyz").await.ok()["ready"], true, "it has only just come");
    let until = async |place: &Place, seconds: u64, words: &str| {
        let mut look = tokio::time::interval(Duration::from_millis(50));
        for _ in 0..400 {
            look.tick().await;
            clock.advance(Duration::from_secs(seconds));
            if place.get("/readyz").await.text().contains(words) {
                return true;
            }
        }
        false
    };
    assert!(until(&place, 5, "no step has ended for over 10 minutes").await);
    assert_eq!(place.get("/livez").await.status, 200, "a restart would not help");
    place.work(|_| {}).await;
    assert!(until(&place, 1, r#""ready":true"#).await);
    place.close().await;
}

#[tokio::test]
async fn a_step_that_nobody_takes_is_told_and_leaves_a_server_ready_where_other_steps_end() {
    let clock = SimClock::default();
    let mut place = Place::at(Arc::new(clock.clone()));
    place.work(|_| {}).await;
    place.create(r#"[{"action": "nobody.does.this", "dispatch_group": "alpha"}]"#).await;
    let mut look = tokio::time::interval(Duration::from_millis(50));
    let mut told = false;
    for _ in 0..400 {
        look.tick().await;
        place.create(r#"[{"action": "noop", "dispatch_group": "beta"}]"#).await;
        clock.advance(Duration::from_secs(5));
        told = place.get("/v1/alerts").await.text().contains("group_no_progress");
        if told {
            break;
        }
    }
    assert!(told, "its group stands still");
    assert_eq!(place.get("/readyz").await.ok()["ready"], true);
    place.close().await;
}

#[tokio::test]
async fn an_address_beyond_this_machine_is_refused() {
    let place = Place::open();
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = stepfast_server::serve(listener, place.site(), std::future::pending()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    place.close().await;
}
