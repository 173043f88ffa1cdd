//! What `forms.js` needs around the forms and buttons of a page: where a refusal is told, and the question before a button acts.

use maud::{Markup, html};

/// Stands once on a page with such forms.
pub fn around() -> Markup {
    html! {
        noscript { p.notice { "Without JavaScript nothing can be changed here; use the command " code { "stepfast" } "." } }
        p #told .notice.lost role="alert" hidden {}
        dialog #sure aria-labelledby="sure-text" {
            p #sure-text {}
            div #sure-because .because hidden {
                label for="sure-why" { "Why, for the record" }
                input #sure-why type="text" maxlength="1000" autocomplete="off" aria-describedby="sure-text";
            }
            div.choice {
                button #sure-do .button.strong type="button" { "Yes" }
                button #sure-leave .button type="button" { "Leave it as it is" }
            }
        }
    }
}

/// What a button does when it is pressed, as `forms.js` reads it.
pub struct Button<'a> {
    pub text: &'a str,
    /// Where it is sent, and what.
    pub post: &'a str,
    pub body: serde_json::Value,
    /// What is asked first.
    pub asks: &'a str,
    pub takes: Takes,
}

/// Whether the call takes a reason.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Why,
    /// It is refused without one, so it is not sent without one.
    NeededWhy,
    Nothing,
}

pub fn button(of: &Button) -> Markup {
    let Button { text, post, body, asks, takes } = of;
    html! {
        button.button type="button" data-post=(post) data-body=(body) data-asks=(asks)
            data-why[*takes != Takes::Nothing] data-needs-why[*takes == Takes::NeededWhy] { (text) }
    }
}

/// The same for something that is made what it says.
pub fn putting(of: &Button) -> Markup {
    let Button { text, post, body, asks, .. } = of;
    html! { button.button type="button" data-post=(post) data-method="PUT" data-body=(body) data-asks=(asks) { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_button_carries_its_order_as_text() {
        let one = Button {
            text: "Off",
            post: "/v1/breaker",
            body: serde_json::json!({"dispatch_group": "\"><b>"}),
            asks: "<i>?",
            takes: Takes::Why,
        };
        let html = button(&one).into_string();
        assert!(
            html.contains("data-body=\"{&quot;dispatch_group&quot;:&quot;\\&quot;&gt;&lt;b&gt;&quot;}\""),
            "{html}"
        );
        assert!(
            html.contains("data-why") && !html.contains("<i>") && !html.contains("data-needs-why"),
            "{html}"
        );
        let html = button(&Button { takes: Takes::NeededWhy, ..one }).into_string();
        assert!(html.contains("data-why") && html.contains("data-needs-why"), "{html}");
    }
}
