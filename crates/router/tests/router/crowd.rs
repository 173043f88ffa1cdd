//! Two thousand messages of fifty groups, through a queue that loses, doubles and delays, to targets that stumble.

use crate::support::{Event, Spy, Stage, lasts, message, ok, pool, queue, start, status, wait};
use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::Duration;
use transport::Transport;
use transport::memory::Fate;

const MESSAGES: usize = 2_000;
const GROUPS: usize = 50;

/// The same for the same text and round.
fn dice(text: &str, round: usize) -> usize {
    let bytes = text.bytes().chain(round.to_be_bytes());
    bytes.fold(17_usize, |hash, byte| (hash ^ usize::from(byte)).wrapping_mul(0x0100_0000_01b3)) >> 20
}

fn group(id: &str) -> String {
    format!("g{}", id[1..].parse::<usize>().unwrap() % GROUPS)
}

/// The first time of each, in order, by group.
fn firsts<'a>(ids: impl Iterator<Item = &'a str>) -> HashMap<String, Vec<String>> {
    let (mut known, mut by_group) = (HashSet::new(), HashMap::new());
    for id in ids.filter(|id| known.insert(*id)) {
        by_group.entry(group(id)).or_insert_with(Vec::new).push(id.to_string());
    }
    by_group
}

#[tokio::test(start_paused = true)]
async fn each_is_processed_and_groups_keep_their_order() {
    for seed in 1..=5 {
        plays(seed).await;
    }
}

async fn plays(seed: usize) {
    let queue = queue();
    let rounds = Mutex::new(HashMap::<String, usize>::new());
    queue.on_publish(move |message| {
        let mut rounds = rounds.lock().unwrap();
        let round = rounds.entry(message.pointer.id.clone()).or_default();
        *round += 1;
        match dice(&message.pointer.id, (seed << 32) | *round) % 100 {
            0..5 => Fate::Lost,
            5..15 => Fate::Doubled,
            15..25 => Fate::Delayed(Duration::from_millis(dice(&message.pointer.id, 77) as u64 % 5_000)),
            25..28 => Fate::Unanswered,
            _ => Fate::Delivered,
        }
    });
    let calls = Mutex::new(HashMap::<String, usize>::new());
    let stage = Stage::new(move |pointer| {
        let mut calls = calls.lock().unwrap();
        let n = calls.entry(pointer.id.clone()).or_default();
        *n += 1;
        let die = dice(&pointer.id, (seed << 32) | (1_000 + *n));
        let outcome = match die % 40 {
            0 => wait(2),
            1 => status(500),
            _ => ok(),
        };
        async move {
            lasts(Duration::from_millis(die as u64 % 50)).await;
            outcome
        }
    });
    let spy = Spy::on(&queue);
    let running = start(&[pool("p", 16)], &spy, &stage);
    let publisher = queue.connect();
    let ids: Vec<String> = (0..MESSAGES).map(|n| format!("m{n}")).collect();
    let mut rounds = 0;
    loop {
        let acked: HashSet<String> = spy.acked().into_iter().collect();
        let missing: Vec<_> = ids.iter().filter(|id| !acked.contains(*id)).collect();
        if missing.is_empty() {
            break;
        }
        rounds += 1;
        assert!(rounds < 20, "{} are missing", missing.len());
        // As the store does when a queued step makes no progress.
        publisher.publish(missing.into_iter().map(|id| message(id, Some(&group(id)))).collect()).await;
        lasts(Duration::from_secs(600)).await;
    }
    let events = spy.events.borrow();
    let received = events.iter().filter_map(|e| if let Event::Received(id) = e { Some(&**id) } else { None });
    let seen = stage.seen.borrow();
    let (received, called) = (firsts(received), firsts(seen.began.iter().map(|(id, _)| &**id)));
    assert_eq!(called.values().map(Vec::len).sum::<usize>(), MESSAGES);
    for (group, ids) in &received {
        assert_eq!(called[group], *ids, "the order of {group}, seed {seed}");
    }
    let processed: HashSet<&String> = seen.ended.iter().collect();
    assert_eq!(processed.len(), MESSAGES);
    assert!(seen.at_once_max <= 16);
    let status = running.status();
    println!(
        "seed {seed}: {} calls for {MESSAGES} messages in {rounds} rounds, at most {} at once; {:?}",
        seen.began.len(),
        seen.at_once_max,
        status.counters
    );
    assert_eq!((queue.depth(), status.held), (0, 0));
}
