use crate::place::Place;
use std::io::ErrorKind;
use tokio::net::TcpListener;

#[tokio::test]
async fn a_server_that_works_is_ready() {
    let place = Place::open();
    assert_eq!(place.get("/livez").await.text(), "ok\n");
    assert_eq!(place.get("/readyz").await.ok()["ready"], true);
    place.close().await;
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
async fn an_address_beyond_this_machine_is_refused() {
    let place = Place::open();
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = stepfast_server::serve(listener, place.site(), std::future::pending()).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
    place.close().await;
}
