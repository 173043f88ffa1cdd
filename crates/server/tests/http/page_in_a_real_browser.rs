use crate::browser::Browser;
use crate::place::{Place, ask, endless, peer};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::get;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::net::TcpListener;

struct Seen {
    dom: String,
    complaints: Vec<String>,
}

/// The page as it stands when this holds of it.
async fn browse(url: &str, when: &'static str) -> Seen {
    let url = url.to_string();
    let look = move || {
        let mut browser = Browser::start();
        browser.open(&url);
        browser.until(when);
        let dom = browser.eval("document.documentElement.outerHTML").as_str().unwrap().to_string();
        Seen { dom, complaints: browser.complaints() }
    };
    tokio::task::spawn_blocking(look).await.unwrap()
}

impl Seen {
    fn has(&self, text: &str) -> &Seen {
        assert!(self.dom.contains(text), "`{text}` is not in {}", self.dom);
        self
    }
    /// The browser refused nothing and no script failed.
    fn is_quiet(&self) -> &Seen {
        assert_eq!(self.complaints, [] as [&str; 0]);
        self
    }
}

async fn serve(router: Router) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    address
}

async fn some_work() -> Place {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
            registry.raw("<img src=x onerror=alert(1)>", endless);
        })
        .await;
    let made = place
        .create(r#"[{"action": "noop", "children": [{"action": "endless"}, {"action": "endless"}]}, {"action": "fail"}, {"action": "ghost"},
                {"action": "<img src=x onerror=alert(1)>"}]"#)
        .await;
    place.until_state(&made[1], "failed").await;
    place.until("/step-dispatcher/api", |view| view["global"]["child_running"] == 3).await;
    place
}

const GROWN: &str = "document.querySelector('[data-figure=pending]').textContent === '1,235'";

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_live() {
    let place = some_work().await;
    assert!(place.get("/step-dispatcher").await.text().contains("data-figure=\"pending\">1<"));
    // More steps come after the page was rendered and before its script asks for the first time.
    let (engine, is_first) = (place.engine.clone(), Arc::new(AtomicBool::new(true)));
    let grow = from_fn(move |request: Request, next: Next| {
        let (engine, is_first) = (engine.clone(), is_first.clone());
        async move {
            if request.uri().path() == "/step-dispatcher/api" && is_first.swap(false, Ordering::SeqCst) {
                let more = vec![model::NewStep::of("ghost"); 1_234];
                engine.create(more).await.unwrap();
            }
            next.run(request).await
        }
    });
    let address = serve(place.router.clone().layer(grow)).await;
    let seen = browse(&format!("http://{address}/step-dispatcher"), GROWN).await;
    seen.is_quiet()
        .has("data-live=\"yes\"")
        .has("data-figure=\"pending\">1,235<")
        .has("data-figure=\"running\">4<")
        .has("data-figure=\"child_running\">3<")
        .has("data-figure=\"failed\">1<")
        .has("<th scope=\"row\"><a href=\"/step-dispatcher/steps?action=endless\">endless</a></th><td class=\"n cyan some\">2</td><td class=\"n purple some\">2</td>")
        .has("<span class=\"who\">worker1</span><span class=\"aside\">1 online, room for 16</span>")
        .has("<th scope=\"row\"><a href=\"/step-dispatcher/steps?dispatch_group=kappa\">kappa</a></th>")
        .has("Not safe to restart")
        .has("aria-checked=\"true\"")
        .has("v1.2.3")
        .has("&lt;img src=x onerror=alert(1)&gt;");
    assert!(!seen.dom.contains("<img src=x"), "{}", seen.dom);
    place.close().await;
}

/// The page with one script more, that clicks.
async fn clicking(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let pages = ["/message-groups/", "/workflows/"];
    let is_page = pages.iter().any(|start| path.starts_with(start));
    let (mut parts, body) = next.run(request).await.into_parts();
    if !is_page {
        return Response::from_parts(parts, body);
    }
    let bytes = to_bytes(body, 1 << 20).await.unwrap();
    let page = String::from_utf8(bytes.to_vec()).unwrap();
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(
        parts,
        Body::from(page.replace("</head>", "<script src=\"/click.js\" defer></script></head>")),
    )
}

const IGNORE: &str = "addEventListener('load', () => setTimeout(() => {
    const verb = document.querySelector('[data-verb=ignore]');
    if (verb === null) return;
    document.getElementById('why').value = 'seen to';
    verb.click();
    new MutationObserver((_, seen) => { seen.disconnect(); setTimeout(() => document.getElementById('do').click(), 100); })
        .observe(document.getElementById('sure'), { attributeFilter: ['hidden'] });
}, 500));";

const LET_GO: &str = "document.querySelector('[data-verb=ignore]') === null
    && document.querySelector('[data-verb=skip-head]') !== null";

#[tokio::test(flavor = "multi_thread")]
async fn a_blocked_message_group_is_let_go() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let made = place
        .create(
            r#"[{"action": "fail", "message_group": "a/7", "mode": "block_on_error"},
                {"action": "ghost", "message_group": "a/7", "mode": "block_on_error"}]"#,
        )
        .await;
    place.until("/v1/message-groups/a%2F7", |group| group["state"] == "blocked").await;
    let script = get(async || ([(header::CONTENT_TYPE, "text/javascript")], IGNORE));
    let address = serve(place.router.clone().route("/click.js", script).layer(from_fn(clicking))).await;
    let seen = browse(&format!("http://{address}/message-groups/a%2F7"), LET_GO).await;
    seen.is_quiet().has(">waiting</span>").has("data-verb=\"skip-head\"");
    assert!(!seen.dom.contains("data-verb=\"ignore\""), "{}", seen.dom);
    let audit = &place.get("/v1/audit").await.ok()["audit"];
    let told = ["who", "verb", "target", "why"].map(|field| audit[0][field].as_str().unwrap().to_string());
    assert_eq!(told, ["dashboard", "ignore", "message group a/7", "seen to"]);
    assert_eq!(audit.as_array().unwrap().len(), 1, "what was only tried is on no record");
    assert_eq!(place.step(&made[0]).await["block_cleared_by"], "dashboard");
    place.close().await;
}

const WAITING: &str = "workflow: waiting\nversion: 1.0.0\nsteps:\n  - { key: first, action: noop }\n  - { key: rest, action: endless }\n";

async fn waiting() -> (Place, String) {
    let mut place = Place::open();
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    place.define(WAITING).await.ok();
    let id = place.start("waiting", serde_json::json!({})).await;
    place.until(&format!("/v1/workflows/{id}"), |shown| shown["steps"][1]["state"] == "running").await;
    (place, id)
}

const PAUSED: &str = "document.querySelector('[data-verb=resume]') !== null
    && document.body.textContent.includes('workflow.paused')";

#[tokio::test(flavor = "multi_thread")]
async fn the_page_of_a_workflow_lives() {
    let (place, id) = waiting().await;
    // It is paused after the page was rendered, when its script reads it again.
    let (router, asked, path) =
        (place.router.clone(), Arc::new(AtomicUsize::new(0)), format!("/v1/workflows/{id}/pause"));
    let hold = from_fn(move |request: Request, next: Next| {
        let (router, asked, path) = (router.clone(), asked.clone(), path.clone());
        async move {
            if request.uri().path().starts_with("/workflows/") && asked.fetch_add(1, Ordering::SeqCst) == 1 {
                let pause = Request::post(path)
                    .header("host", "localhost")
                    .header("content-type", "application/json");
                let pause =
                    pause.extension(peer("127.0.0.1:40000")).body(Body::from(r#"{"why": "look"}"#)).unwrap();
                assert_eq!(ask(&router, pause).await.status, 200);
            }
            next.run(request).await
        }
    });
    let address = serve(place.router.clone().layer(hold)).await;
    let seen = browse(&format!("http://{address}/workflows/{id}"), PAUSED).await;
    seen.is_quiet()
        .has("data-live=\"yes\"")
        .has("<span class=\"state orange\">paused</span>")
        .has("data-verb=\"resume\"")
        .has("workflow.paused")
        .has("sf-step sf-action is-completed");
    assert!(!seen.dom.contains("data-verb=\"pause\""), "{}", seen.dom);
    let list =
        browse(&format!("http://{address}/workflows"), "document.documentElement.dataset.live === 'yes'")
            .await;
    list.is_quiet().has("data-live=\"yes\"").has("<b>waiting</b>");
    place.close().await;
}

const CANCEL: &str = "addEventListener('load', () => setTimeout(() => {
    document.getElementById('why').value = 'not wanted';
    document.querySelector('[data-verb=cancel]').click();
    new MutationObserver((_, seen) => { seen.disconnect(); setTimeout(() => document.getElementById('do').click(), 100); })
        .observe(document.getElementById('sure'), { attributeFilter: ['hidden'] });
}, 500));";

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_cancelled_by_a_click() {
    let (place, id) = waiting().await;
    let script = get(async || ([(header::CONTENT_TYPE, "text/javascript")], CANCEL));
    let address = serve(place.router.clone().route("/click.js", script).layer(from_fn(clicking))).await;
    let seen =
        browse(&format!("http://{address}/workflows/{id}"), "document.querySelector('[data-over]') !== null")
            .await;
    seen.is_quiet()
        .has(">cancelled</span>")
        .has("data-over")
        .has("It is running and would be cancelled for good.");
    assert!(!seen.dom.contains("data-verb=\"cancel\""), "{}", seen.dom);
    let audit = &place.get("/v1/audit").await.ok()["audit"];
    let told = ["who", "verb", "target", "why"].map(|field| audit[0][field].as_str().unwrap().to_string());
    assert_eq!(told, ["dashboard", "cancel", &format!("workflow {id}"), "not wanted"]);
    place.close().await;
}
