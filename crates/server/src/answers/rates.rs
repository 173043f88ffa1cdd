//! How much was done and how long it took, over the last hour or day, from the minutes that nodes put on record.

use model::{Minute, Timestamp};
use std::time::Duration;
use store::{Browse, Result};

/// How far back one looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Window {
    #[default]
    Hour,
    Day,
}

impl Window {
    /// How long one point of it is, and how many there are.
    fn points(self) -> (Duration, usize) {
        match self {
            Window::Hour => (Minute::LONG, 60),
            Window::Day => (15 * Minute::LONG, 96),
        }
    }
}

#[derive(Debug)]
pub struct Rates {
    pub window: Window,
    /// How long each point is.
    pub each: Duration,
    /// Oldest first, one after the other; the minute that is not over is not among them.
    pub points: Vec<Minute>,
}

pub fn rates(browse: &Browse, window: Window, now: Timestamp) -> Result<Rates> {
    let (each, n) = window.points();
    let from = Minute::of(now) - each * n as u32;
    Ok(Rates { window, each, points: gathered(&browse.minutes(from)?, from, (each, n)) })
}

fn gathered(minutes: &[Minute], from: Timestamp, (each, n): (Duration, usize)) -> Vec<Minute> {
    let mut points: Vec<Minute> =
        (0..n).map(|i| Minute { at: from + each * i as u32, ..Minute::default() }).collect();
    for minute in minutes.iter().filter(|minute| minute.at >= from) {
        let place = minute.at.since(from).as_micros() / each.as_micros();
        if let Some(point) = points.get_mut(place as usize) {
            point.merge(minute);
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minutes_of_all_nodes_fall_into_their_points() {
        let minute =
            |n: i64, completed| Minute { at: Timestamp(n * 60_000_000), completed, ..Minute::default() };
        let all = [minute(9, 99), minute(10, 1), minute(10, 2), minute(12, 4), minute(13, 8), minute(20, 99)];
        let points = gathered(&all, Timestamp(600_000_000), (2 * Minute::LONG, 3));
        let told: Vec<(i64, u64)> =
            points.iter().map(|point| (point.at.0 / 60_000_000, point.completed)).collect();
        assert_eq!(told, [(10, 3), (12, 12), (14, 0)]);
    }
}
