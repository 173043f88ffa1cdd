use crate::place::{Place, endless};
use serde_json::{Value, json};

/// One step of a group as JSON.
fn letter(key: &str, action: &str, group: &str) -> Value {
    json!({"step_key": key, "action": action, "message_group": group, "mode": "block_on_error"})
}

async fn create(place: &Place, steps: Value) -> Vec<String> {
    place.create(&steps.to_string()).await
}

fn path(group: &str) -> String {
    format!("/v1/message-groups/{group}")
}

async fn shown(place: &Place, group: &str) -> Value {
    place.get(&path(group)).await.ok()
}

/// Tried first, which changes nothing; then done, and it is what was tried.
async fn operate(place: &Place, group: &str, verb: &str) -> Value {
    let (body, address) = (r#"{"why": "told to", "by": "anna"}"#, format!("{}/{verb}", path(group)));
    let look = async || {
        let [groups, steps, audit] =
            ["/v1/message-groups", "/v1/steps", "/v1/audit"].map(|path| place.get(path));
        [groups.await.ok(), steps.await.ok(), audit.await.ok()]
    };
    let before = look().await;
    let tried = place.post(&format!("{address}?dry_run=true"), body).await.ok();
    assert_eq!(look().await, before, "{verb} was only tried");
    let done = place.post(&address, body).await.ok();
    assert_eq!((&done["message_group"], &done["verb"]), (&json!(group), &json!(verb)));
    for part in ["forgiven", "moved", "more"] {
        assert_eq!(tried[part], done[part], "{part} of {verb}");
    }
    assert_eq!(tried["replaced"].as_array().unwrap().len(), done["replaced"].as_array().unwrap().len());
    let entry = &place.get("/v1/audit?limit=1").await.ok()["audit"][0];
    assert_eq!((&entry["verb"], &entry["target"]), (&json!(verb), &json!(format!("message group {group}"))));
    assert_eq!((&entry["who"], &entry["why"]), (&json!("anna"), &json!("told to")));
    done
}

/// A group that a failed step blocks, with one step behind it that would do its work.
async fn blocked(place: &Place, group: &str) -> Vec<String> {
    let made = create(place, json!([letter("bad", "fail", group), letter("next", "noop", group)])).await;
    place.until(&path(group), |group| group["state"] == "blocked").await;
    made
}

#[tokio::test]
async fn groups_are_listed_and_shown_with_their_line_and_what_holds_them_back() {
    let mut place = Place::open();
    assert_eq!(
        place.get("/v1/message-groups").await.ok(),
        json!({"message_groups": []}),
        "nothing has anything to do"
    );
    place
        .work(|registry| {
            registry.raw("endless", endless);
        })
        .await;
    let failed = blocked(&place, "b").await;
    let more = create(&place, json!([letter("more", "noop", "b"), letter("busy", "endless", "r")])).await;
    let waits = create(&place, json!([letter("waits", "ghost", "w")])).await;
    place.until_state(&more[1], "running").await;
    let list = place.get("/v1/message-groups").await.ok();
    let told: Vec<String> = list["message_groups"].as_array().unwrap().iter().map(in_short).collect();
    assert_eq!(told, ["b blocked 2", "r running 0", "w waiting 1"]);
    let group = &list["message_groups"][0];
    assert_eq!((&group["head"], &group["holds"][0]["blocked_by"]), (&json!(failed[1]), &json!(failed[0])));
    let show = shown(&place, "b").await;
    assert_eq!(show["holds"], group["holds"]);
    let line: Vec<&Value> = show["queue"].as_array().unwrap().iter().map(|step| &step["step_key"]).collect();
    assert_eq!(line, ["next", "more"]);
    assert_eq!(show["queue"][0]["status"], "PENDING");
    let why = &place.step(&failed[1]).await["why"][0];
    let blocks = format!("its message group `b` is blocked by step {}, which failed", failed[0]);
    assert!(why.as_str().unwrap().starts_with(&blocks), "{why}");
    assert_eq!(shown(&place, "r").await["queue"][0]["id"], more[1]);
    assert_eq!(shown(&place, "w").await["head"], waits[0]);
    let front = place.get("/v1/message-groups/b?limit=1").await.ok();
    assert_eq!(
        (&front["queue"][0]["step_key"], front["queue"].as_array().unwrap().len()),
        (&json!("next"), 1)
    );
    let page = place.get("/v1/message-groups?limit=2").await.ok();
    assert_eq!((page["message_groups"].as_array().unwrap().len(), &page["next"]), (2, &json!("r")));
    let rest = place.get("/v1/message-groups?limit=2&after=r").await.ok();
    assert_eq!((&rest["message_groups"][0]["message_group"], &rest["next"]), (&json!("w"), &Value::Null));
    place.close().await;
}

fn in_short(group: &Value) -> String {
    let text = |field: &str| group[field].as_str().unwrap().to_string();
    format!("{} {} {}", text("message_group"), text("state"), group["waiting"])
}

#[tokio::test]
async fn what_failed_is_ignored_skipped_unblocked_or_made_anew() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    for verb in ["ignore", "skip-head", "unblock"] {
        let made = blocked(&place, verb).await;
        let done = operate(&place, verb, verb).await;
        assert_eq!((&done["forgiven"], &done["replaced"]), (&json!([made[0]]), &json!([])), "{verb}");
        place.until_state(&made[1], "completed").await;
        let failed = place.step(&made[0]).await;
        assert_eq!(
            (&failed["state"], &failed["block_cleared_by"]),
            (&json!("failed"), &json!("anna")),
            "{verb}"
        );
        assert_eq!(failed["block_cleared_why"], "told to");
        place.get(&path(verb)).await.refused(404, "not_found");
    }
    let made = blocked(&place, "requeue").await;
    let done = operate(&place, "requeue", "requeue").await;
    let new = done["replaced"][0]["by"].as_str().unwrap();
    assert_eq!(done["replaced"][0]["step_id"], made[0]);
    assert_eq!(place.step(&made[0]).await["superseded_by"], new);
    // It fails again, in the place it had.
    let blocks = |group: &Value| group["holds"][0]["blocked_by"] == new;
    place.until(&path("requeue"), blocks).await;
    assert_eq!(place.step(&made[1]).await["state"], "pending");
    let done = operate(&place, "requeue", "cancel").await;
    assert_eq!(
        (&done["forgiven"], &done["moved"]),
        (&json!([new]), &json!([{"step_id": made[1], "to": "cancelled"}]))
    );
    place.close().await;
}

#[tokio::test]
async fn a_group_is_paused_and_resumed_and_its_line_is_cut() {
    let mut place = Place::open();
    operate(&place, "p", "pause").await;
    let hold = &shown(&place, "p").await["holds"][0];
    assert_eq!(
        (&hold["by"], &hold["why"], &hold["blocked_by"]),
        (&json!("anna"), &json!("told to"), &Value::Null)
    );
    let again = place.post("/v1/message-groups/p/pause", "{}").await.refused(409, "refused");
    assert!(again["detail"].as_str().unwrap().contains("message group `p`: it is paused already"), "{again}");
    place.work(|_| {}).await;
    let keys = ["p1", "p2", "p3", "p4"].map(|key| letter(key, "noop", "p"));
    let made = create(&place, json!(keys)).await;
    assert_eq!(in_short(&shown(&place, "p").await), "p paused 4");
    let why = &place.step(&made[0]).await["why"][0];
    assert_eq!(why, "its message group `p` was paused by anna (told to)");
    let done = operate(&place, "p", "skip-head").await;
    assert_eq!(done["moved"], json!([{"step_id": made[0], "to": "skipped"}]));
    operate(&place, "p", "resume").await;
    for id in &made[1..] {
        place.until_state(id, "completed").await;
    }
    assert_eq!(place.step(&made[0]).await["state"], "skipped");
    place.get("/v1/message-groups/p").await.refused(404, "not_found");
    let made = create(&place, json!([letter("c1", "ghost", "c"), letter("c2", "ghost", "c")])).await;
    let done = operate(&place, "c", "cancel").await;
    assert_eq!((done["moved"].as_array().unwrap().len(), &done["more"]), (2, &json!(false)));
    for id in &made {
        assert_eq!(place.step(id).await["status"], "CANCELLED");
    }
    place.close().await;
}

#[tokio::test]
async fn a_name_may_be_any_text() {
    let place = Place::open();
    let made = create(&place, json!([letter("k", "ghost", "straße 7/b?")])).await;
    let address = "/v1/message-groups/stra%C3%9Fe%207%2Fb%3F";
    assert_eq!(place.get(address).await.ok()["head"], made[0]);
    let done = place.post(&format!("{address}/pause"), "{}").await.ok();
    assert_eq!(done["message_group"], "straße 7/b?");
    let hold = &place.get(address).await.ok()["holds"][0];
    assert_eq!((&hold["by"], &hold["why"]), (&json!("loopback"), &json!("by hand")));
    place.close().await;
}

#[tokio::test]
async fn what_cannot_be_done_to_a_group_is_said() {
    let place = Place::open();
    let told = |problem: Value| problem["detail"].as_str().unwrap().to_string();
    let made = create(&place, json!([letter("k", "ghost", "a")])).await;
    let skip = |head: &str| format!("/v1/message-groups/a/skip-head?head={head}");
    let other = "0199c0de-0000-7000-8000-000000000000";
    let late = told(place.post(&skip(other), r#"{"why": "x"}"#).await.refused(409, "refused"));
    assert!(late.contains(&format!("step {other} is not its head any more; {} is", made[0])), "{late}");
    let strange = told(place.post(&skip("x"), r#"{"why": "x"}"#).await.refused(400, "invalid_request"));
    assert_eq!(strange, "head: `x` is not the id of a step");
    let elsewhere = format!("/v1/message-groups/a/pause?head={}", made[0]);
    let elsewhere = told(place.post(&elsewhere, "{}").await.refused(400, "invalid_request"));
    assert_eq!(elsewhere, "`head` is for `skip-head` alone; leave it out");
    let unknown = told(place.get("/v1/message-groups/nobody").await.refused(404, "not_found"));
    assert_eq!(unknown, "message group `nobody` has nothing to do and is not held back");
    let unknown = told(place.post("/v1/message-groups/a/explode", "{}").await.refused(404, "not_found"));
    let known = "pause, resume, skip-head, requeue, ignore, cancel, unblock";
    assert_eq!(unknown, format!("`explode` cannot be done to a message group; these can: {known}"));
    for (group, verb, why) in [
        ("a", "resume", "it is not paused"),
        ("a", "requeue", "no step of it failed and holds it back"),
        ("a", "ignore", "no step of it failed and holds it back"),
        ("a", "unblock", "nothing holds it back"),
        ("nobody", "skip-head", "no step of it waits or runs"),
        ("nobody", "cancel", "no step of it waits or runs"),
    ] {
        for query in ["", "?dry_run=true"] {
            let refused =
                place.post(&format!("/v1/message-groups/{group}/{verb}{query}"), r#"{"why": "x"}"#).await;
            let said = told(refused.refused(409, "refused"));
            assert!(said.contains(&format!("message group `{group}`: {why}")), "{verb}: {said}");
        }
    }
    place.post("/v1/message-groups/a/pause?dryrun=true", "{}").await.refused(400, "invalid_request");
    place.post("/v1/message-groups/a/pause", r#"{"reason": "x"}"#).await.refused(422, "invalid_request");
    place.get("/v1/message-groups?limit=0").await.refused(400, "invalid_request");
    place.get("/v1/message-groups?colour=red").await.refused(400, "invalid_request");
    assert_eq!(in_short(&shown(&place, "a").await), "a waiting 1");
    assert_eq!(place.get("/v1/audit").await.ok()["audit"], json!([]));
    place.close().await;
}

/// Names on a page, and whether it leads on.
async fn listed(place: &Place, query: &str) -> (Vec<String>, Option<String>) {
    let page = place.get(&format!("/message-groups{query}")).await;
    assert_eq!(page.status, 200, "{}", page.text());
    let names =
        page.text().split("href=\"/message-groups/").skip(1).filter_map(|part| part.split('"').next());
    let on = page.text().split("a class=\"button\" href=\"").nth(1).and_then(|part| part.split('"').next());
    (
        names.map(Into::into).collect(),
        on.map(|href| href.replace("&amp;", "&").replace("/message-groups", "")),
    )
}

#[tokio::test]
async fn groups_are_found_by_how_they_begin_and_by_what_holds_them_back() {
    let mut place = Place::open();
    place.work(|_| {}).await;
    for group in ["pay-1", "pay-2"] {
        blocked(&place, group).await;
    }
    let waits = ["pax", "pay", "pay-3", "pay-4", "paz"].map(|group| letter("waits", "ghost", group));
    create(&place, json!(waits)).await;
    for group in ["pay-2", "pay-3"] {
        place.post(&format!("{}/pause", path(group)), r#"{"why": "told to"}"#).await.ok();
    }
    let all = async |query: &str| listed(&place, query).await.0;
    assert_eq!(all("").await, ["pax", "pay", "pay-1", "pay-2", "pay-3", "pay-4", "paz"]);
    assert_eq!(all("?name=pay").await, ["pay", "pay-1", "pay-2", "pay-3", "pay-4"]);
    assert_eq!(all("?held=blocked").await, ["pay-1", "pay-2"]);
    assert_eq!(all("?held=paused").await, ["pay-2", "pay-3"]);
    assert_eq!(all("?name=pay-2&held=paused").await, ["pay-2"]);
    assert_eq!(all("?name=pay-1&held=paused").await, [""; 0]);
    let (mut found, mut query) = (Vec::new(), Some("?name=pay&limit=2".to_string()));
    while let Some(at) = query {
        let (names, on) = listed(&place, &at).await;
        assert!(names.len() <= 2, "{names:?}");
        found.push(names.join(" "));
        query = on;
    }
    assert_eq!(found, ["pay pay-1", "pay-2 pay-3", "pay-4"]);
    assert!(place.get("/message-groups?name=none").await.text().contains("No message group is like that."));
    place.get("/message-groups?held=never").await.refused(400, "invalid_request");
    let told = place.get("/v1/message-groups?name=pay&held=paused&after=pay-2").await.ok();
    let told = told["message_groups"].as_array().unwrap().clone();
    assert_eq!(told.iter().map(|group| &group["message_group"]).collect::<Vec<_>>(), ["pay-3"]);
    place.get("/v1/message-groups?held=never").await.refused(400, "invalid_request");
    place.close().await;
}
