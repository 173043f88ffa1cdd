//! Every page in a real browser: both themes, a phone and a desk, for everybody, and with nothing that was planted running.

use crate::browser::Browser;
use crate::place::Place;
use crate::showcase::{PLANTED, Showcase, everything};
use axum::Router;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::net::TcpListener;

const AUDIT: &str = include_str!("audit.js");
/// Everything that a page shows only when it is asked for, or when something was refused, at once.
const OPEN_ALL: &str = "(() => {
    document.querySelectorAll('details').forEach((part) => { part.open = true; });
    document.querySelectorAll('main [hidden]').forEach((part) => { part.hidden = false; });
    document.querySelectorAll('dialog').forEach((sheet) => sheet.show());
    document.querySelectorAll('#would, #told, #sure-text, #made-text').forEach((part) => {
        part.textContent ||= 'It is running and would be cancelled for good; workflow-0123456789abcdef0123456789abcdef-0123456789';
    });
})()";
/// Pages that say the same whatever is done.
const DOCS: [&str; 3] = ["/docs/api", "/docs/errors", "/docs/errors/late"];

pub async fn serve(router: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    tokio::spawn(async move { axum::serve(listener, service).await });
    url
}

/// A page that is not there complains of that alone.
fn is_expected(path: &str, complaint: &str) -> bool {
    path == "/nothing" && complaint.contains("404")
}

/// Where pictures are put, if somebody wants to look at them.
fn picture(path: &str, width: u32, (theme, how): (&str, &str)) -> Option<PathBuf> {
    let dir = PathBuf::from(std::env::var_os("STEPFAST_PICTURES")?);
    let name: String =
        path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(60).collect();
    Some(dir.join(format!("{width}-{theme}{how}{name}.png")))
}

/// What is wrong with the page that is open, as it stands.
fn faults(browser: &mut Browser) -> Vec<String> {
    let found = browser.eval(AUDIT);
    found.as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_sound_in_both_themes_and_widths_and_nothing_planted_runs() {
    let shown = everything().await;
    let url = serve(shown.place.router.clone()).await;
    let (mut browser, mut all, mut looked) = (Browser::start(), Vec::new(), 0);
    for (width, theme) in [(1_440, "light"), (1_440, "dark"), (390, "light"), (390, "dark")] {
        browser.look(width, theme);
        for path in shown.pages.iter().map(String::as_str).chain(DOCS) {
            browser.open(&format!("{url}{path}"));
            for (how, script) in [("", "0"), ("-opened", OPEN_ALL)] {
                browser.eval(script);
                let said = browser.complaints().into_iter().filter(|said| !is_expected(path, said));
                let found = faults(&mut browser).into_iter().chain(said);
                all.extend(found.map(|fault| format!("{width} {theme}{how} {path}: {fault}")));
                // The whole reference opened is too long for a picture.
                let file = picture(path, width, (theme, how)).filter(|_| how.is_empty() || path != DOCS[0]);
                if let Some(file) = file {
                    browser.picture(&file);
                }
            }
            looked += 1;
        }
    }
    assert!(all.is_empty(), "{} faults on {looked} pages:\n{}", all.len(), all.join("\n"));
    println!("{looked} pages looked at");
    shown.place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_planted_is_read_as_text() {
    let Showcase { place, pages, .. } = everything().await;
    let planted = PLANTED.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut shows = 0;
    for path in &pages {
        let page = place.get(path).await;
        let html = page.text();
        for markup in ["<script>alert", "<img src=x", "\"'><"] {
            assert!(!html.contains(markup), "{markup} is in {path}");
        }
        shows += usize::from(html.contains(&planted.replace('"', "&quot;")));
    }
    // Lists of nothing show nothing; the others show what was planted, or this test tests nothing.
    assert!(shows >= pages.len() - 8, "{shows} of {} pages show it", pages.len());
    place.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_leads_anywhere_and_a_sheet_tells_which() {
    let place = Place::open();
    let url = serve(place.router.clone()).await;
    let mut browser = Browser::start();
    browser.look(1_440, "light");
    browser.open(&format!("{url}/step-dispatcher"));
    let press = |key: &str| {
        format!("document.body.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))")
    };
    assert_eq!(browser.eval("document.querySelector('.side [aria-current]').textContent"), "Overview");
    browser.eval(&press("?"));
    assert_eq!(browser.eval("document.getElementById('keys').open"), true);
    browser.eval(&press("g"));
    browser.eval(&press("w"));
    assert_eq!(browser.eval("location.pathname"), "/step-dispatcher", "a sheet takes no keys");
    browser.eval("document.getElementById('keys-close').click()");
    browser.eval(&press("g"));
    browser.eval(&press("w"));
    browser.until("location.pathname === '/workflows' && document.querySelector('.side [aria-current]').textContent === 'Workflows'");
    browser.eval(&press("/"));
    assert_eq!(browser.eval("document.activeElement.id"), "workflow");
    let in_field = press("g").replace("document.body", "document.activeElement")
        + ";"
        + &press("s").replace("document.body", "document.activeElement");
    browser.eval(&in_field);
    assert_eq!(browser.eval("location.pathname"), "/workflows", "whoever writes is left alone");
    browser.open(&format!("{url}/step-dispatcher/steps"));
    assert_eq!(browser.eval("document.querySelector('.side [aria-current]').textContent"), "Steps");
    browser.eval(&press("g"));
    browser.eval(&press("b"));
    browser.until("location.pathname === '/bulk'");
    assert_eq!(browser.complaints(), [""; 0]);
    browser.look(390, "light");
    browser.open(&format!("{url}/pools"));
    assert_eq!(browser.eval("document.querySelector('.side').checkVisibility()"), false);
    browser.eval("document.querySelector('.menu summary').click()");
    browser.until("document.querySelector('.menu a[href=\"/audit\"]').checkVisibility()");
    assert_eq!(browser.eval("document.documentElement.scrollWidth <= innerWidth"), true);
    place.close().await;
}
