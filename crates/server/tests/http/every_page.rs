//! Every page in a real browser: both themes, a phone and a desk, for everybody, and with nothing that was planted running.

use crate::browser::Browser;
use crate::place::Place;
use crate::showcase::{PLANTED, Showcase, asked, everything};
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

/// A desk and a phone, in both themes.
const LOOKS: [(u32, &str); 4] = [(1_440, "light"), (1_440, "dark"), (390, "light"), (390, "dark")];

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

/// What is wrong with the page that is open, and what the browser complains of unless that is expected.
fn faults(browser: &mut Browser, is_expected: impl Fn(&str) -> bool) -> Vec<String> {
    let found = browser.eval(AUDIT);
    let found = found.as_array().unwrap().iter().map(|fault| fault.as_str().unwrap().to_string());
    let said = browser.complaints().into_iter().filter(|said| !is_expected(said));
    found.chain(said).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_page_is_sound_in_both_themes_and_widths_and_nothing_planted_runs() {
    let shown = everything().await;
    let url = serve(shown.place.router.clone()).await;
    let (mut browser, mut wrong, mut looked) = (Browser::start(), Vec::new(), 0);
    for (width, theme) in LOOKS {
        browser.look(width, theme);
        for path in shown.pages.iter().map(String::as_str).chain(DOCS) {
            browser.open(&format!("{url}{path}"));
            for (how, script) in [("", "0"), ("-opened", OPEN_ALL)] {
                browser.eval(script);
                let found = faults(&mut browser, |said| is_expected(path, said));
                wrong.extend(found.into_iter().map(|fault| format!("{width} {theme}{how} {path}: {fault}")));
                // The whole reference opened is too long for a picture.
                let file = picture(path, width, (theme, how)).filter(|_| how.is_empty() || path != DOCS[0]);
                if let Some(file) = file {
                    browser.picture(&file);
                }
            }
            looked += 1;
        }
    }
    assert!(wrong.is_empty(), "{} faults on {looked} pages:\n{}", wrong.len(), wrong.join("\n"));
    println!("{looked} pages looked at");
    shown.place.close().await;
}

/// The page behind a link that somebody got: looked at, answered, and opened once more.
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_meets_sound_pages_from_the_form_to_the_thanks_and_when_it_is_too_late() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    let asked = asked(&place, LOOKS.len() + 1).await;
    let ((ended, late), asked) = asked.split_last().unwrap();
    place.post(&format!("/v1/workflows/{ended}/cancel"), r#"{"why": "it was sold"}"#).await.ok();
    let url = serve(place.router.clone()).await;
    let (mut browser, mut wrong) = (Browser::start(), Vec::new());
    for ((width, theme), (id, page)) in LOOKS.into_iter().zip(asked) {
        browser.look(width, theme);
        let mut look = |browser: &mut Browser, title: &str| {
            browser.until(&format!("document.querySelector('h1').textContent === {title:?}"));
            let found = faults(browser, |said| title == "Too late" && said.contains("410"));
            wrong.extend(found.into_iter().map(|fault| format!("{width} {theme} {title}: {fault}")));
            if let Some(file) = picture(&format!("-approve-{title}"), width, (theme, "")) {
                browser.picture(&file);
            }
        };
        browser.open(&format!("{url}{page}"));
        look(&mut browser, PLANTED);
        browser.eval("document.querySelector('form.answer select').value = 'true'");
        browser.eval("document.querySelector('form.answer button').click()");
        look(&mut browser, "Thank you");
        place.until_workflow(id, "succeeded").await;
        browser.open(&format!("{url}{page}"));
        look(&mut browser, "Already answered");
        browser.open(&format!("{url}{late}"));
        look(&mut browser, "Too late");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    place.close().await;
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
