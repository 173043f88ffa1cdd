//! Takes requests into the turn: each becomes changes on the board and an answer that waits for the commit.

use super::attempts;
use super::gather::Gather;
use super::node::{Node, Turn};
use super::owed::Word;
use super::peers::Then;
use super::sessions::Hold;
use super::workflows::polled;
use crate::EngineError;
use crate::request::{Created, Reply, ReportAnswer, Request};
use crate::signal::{Signal, read};
use model::{
    Block, BlockId, Breaker, DispatchGroup, Effect, NewStep, Outcome, Report, SessionId, Step, StepId,
    Timestamp, limits,
};
use rules::creation::{Ground, Plan, plan};
use rules::worker::{self, Answer};
use std::collections::{BTreeMap, HashMap, HashSet};
use store::{AuditEntry, GroupWrite, Result, SessionRow, StoreError, Wake};

/// Of what steps do that were made together, so much is told.
const ACTIONS_NAMED: usize = 5;

/// One line for the whole call: the steps themselves are on record.
fn creation(who: String, plan: &Plan) -> AuditEntry {
    let first = plan.roots.first().map(|id| format!("step {id}")).unwrap_or_default();
    let target = match plan.steps.len() {
        0 | 1 => first,
        n => format!("{n} steps from {first}"),
    };
    let mut actions: Vec<&str> = plan.steps.iter().map(|(step, _)| &*step.action).collect();
    actions.sort_unstable();
    actions.dedup();
    let more = actions.len().saturating_sub(ACTIONS_NAMED);
    actions.truncate(ACTIONS_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let after = Some(format!("made: {}{more}", actions.join(", ")));
    AuditEntry { who, verb: "create".into(), target, why: None, before: None, after }
}

/// It may need a place in the round of groups.
fn takes_root(step: &NewStep) -> bool {
    step.dispatch_group.is_none() && step.block_id.is_none() && step.parent_step_id.is_none()
}

impl Node {
    pub(super) fn intake(&mut self, turn: &mut Turn, request: Request, now: Timestamp) -> Result<()> {
        match request {
            Request::Create { steps, by, reply } => self.create(turn, steps, by, reply, now),
            Request::Operate { operation, reply } => self.operate(turn, operation, reply, now),
            Request::OperateGroup { operation, reply } => self.operate_group(turn, operation, reply, now),
            Request::StartWorkflow { start, reply } => self.start_workflow(turn, start, reply, now),
            Request::OperateWorkflow { operation, reply } => {
                self.operate_workflow(turn, operation, reply, now)
            }
            Request::Trigger { order, reply } => self.trigger(turn, order, reply, now),
            Request::PauseToken { order, hash, reply } => self.pause_token(turn, (order, hash), reply, now),
            Request::Tell { channel, notice, reply } => {
                self.tell_channel(turn, (channel, *notice), reply, now)
            }
            Request::Detect { order, reply } => {
                self.detect(turn, order, reply, now);
                Ok(())
            }
            Request::Looked { look, order, reply } => self.looked(turn, *look, (order, reply), now),
            Request::RecoverPolls { recovery, reply } => self.recover_polls(turn, &recovery, reply, now),
            Request::Breaker { scope, breaker, by, reply } => {
                self.switch(turn, scope, breaker, by, reply);
                Ok(())
            }
            Request::Join { offer, hand, reply } => {
                let id = self.ids.session(now);
                self.sessions.join(id, offer, hand, now);
                self.joined(turn, id, reply)
            }
            Request::JoinAgain { session, received, hand, reply } => {
                if self.sessions.join_again(session, received, hand, now) {
                    return self.joined(turn, session, reply);
                }
                turn.acts.refuse(reply, EngineError::NoSession);
                Ok(())
            }
            Request::Reports { reports, reply } => self.reports(turn, reports, reply, now),
            Request::Heartbeat { session, received, held, reply } => {
                self.heartbeat(turn, session, received, &held, reply, now)
            }
            Request::Attend { publisher, reply } => self.attend(turn, publisher, reply),
            Request::Published { publications, reply } => self.published(turn, publications, reply, now),
            Request::Begin { sent, reply } => self.begin(turn, sent, reply, now),
            Request::Leave { session, give_back, reply } => self.leave(turn, session, give_back, reply, now),
            Request::Tick { reply, .. } => {
                reply.send(Err(EngineError::Unavailable(StoreError::Refused(
                    "this engine takes its turns by itself".into(),
                ))));
                Ok(())
            }
            Request::Committed { .. }
            | Request::Wake(_)
            | Request::Store(_)
            | Request::Stop { .. }
            | Request::Halt => Ok(()),
        }
    }

    fn joined(&mut self, turn: &mut Turn, id: SessionId, reply: Reply<SessionId>) -> Result<()> {
        self.put_session(turn, id);
        turn.wake.insert(Wake::Everybody);
        self.want()?;
        turn.acts.reply(reply, id);
        Ok(())
    }

    /// A step in hand, loaded with its block if it was not.
    pub(super) fn bring(&mut self, id: StepId) -> Result<bool> {
        if self.board.step(id).is_none() {
            let Some(step) = self.store.step(id)? else { return Ok(false) };
            if let Some(place) = step.place {
                self.bring_block(place.block)?;
            }
            self.board.load_step(step);
        }
        let blocks = self.board.step(id).map(|s| [s.block(), s.child_block]);
        for block in blocks.into_iter().flatten().flatten() {
            self.bring_block(block)?;
        }
        Ok(true)
    }

    pub(super) fn block_or_load(&mut self, id: BlockId) -> Result<Option<Block>> {
        self.bring_block(id)?;
        Ok(self.board.block(id).cloned())
    }

    pub(super) fn create(
        &mut self,
        turn: &mut Turn,
        steps: Vec<NewStep>,
        by: Option<String>,
        reply: Reply<Vec<Created>>,
        now: Timestamp,
    ) -> Result<()> {
        match self.joins_abroad(&steps)? {
            Ok(None) => {}
            Ok(Some(group)) => {
                self.forward(turn, &group, &Signal::Create { steps, by }, reply);
                return Ok(());
            }
            Err(apart) => {
                turn.acts.refuse(reply, apart);
                return Ok(());
            }
        }
        match self.plan(turn, &steps, now)? {
            Err(faults) => turn.acts.refuse(reply, EngineError::Invalid(faults)),
            Ok(plan) => {
                let roots: HashSet<StepId> = plan.roots.iter().copied().collect();
                let made = plan.steps.iter().map(|(s, _)| s).filter(|s| roots.contains(&s.id));
                let created =
                    |s: &Step| Created { id: s.id, state: s.state, dispatch_group: s.dispatch_group.clone() };
                let made: HashMap<StepId, Created> = made.map(|s| (s.id, created(s))).collect();
                let created = plan.roots.iter().filter_map(|id| made.get(id).cloned()).collect();
                turn.audit.extend(by.map(|by| creation(by, &plan)));
                self.carry_out(turn, plan)?;
                turn.acts.reply(reply, created);
            }
        }
        Ok(())
    }

    pub(super) fn plan(
        &mut self,
        turn: &mut Turn,
        steps: &[NewStep],
        now: Timestamp,
    ) -> Result<std::result::Result<Plan, Vec<model::Fault>>> {
        let (blocks, parents) = self.named_rows(steps)?;
        let queues = self.config.known_queues();
        let pools = self.known_pools(steps, now)?;
        let missing = steps.iter().filter(|step| takes_root(step)).count().saturating_sub(self.roots.len());
        if missing > 0 {
            self.roots.extend(self.store.take_roots(missing)?);
            turn.took_roots = true;
        }
        let (ids, groups, mut places) = (&self.ids, &self.config.groups, self.roots.iter());
        let mut new_id = || ids.row(now);
        let mut next_group = || {
            let place = places.next().copied().unwrap_or_default();
            groups[(place % groups.len() as u64) as usize].clone()
        };
        let mut ground = Ground {
            now,
            dispatch_groups: groups,
            queues: &queues,
            pools: &pools,
            blocks,
            parents,
            new_id: &mut new_id,
            next_group: &mut next_group,
        };
        let planned = plan(steps, &mut ground);
        // A refused request takes no place in the round.
        let used = self.roots.len() - places.len();
        if planned.is_ok() {
            self.roots.drain(..used);
        }
        Ok(planned)
    }

    /// Rows that a request names, as they are now.
    fn named_rows(&mut self, steps: &[NewStep]) -> Result<(HashMap<BlockId, Block>, HashMap<StepId, Step>)> {
        let (mut blocks, mut parents) = (HashMap::new(), HashMap::new());
        for step in steps {
            if let Some(parent) = step.parent_step_id
                && self.bring(parent)?
            {
                let owner = self.board.step(parent).expect("it was just brought").clone();
                for block in [owner.block(), owner.child_block].into_iter().flatten() {
                    if let Some(block) = self.block_or_load(block)? {
                        blocks.insert(block.id, block);
                    }
                }
                parents.insert(parent, owner);
            }
            for id in [step.block_id, step.child_block_id].into_iter().flatten() {
                let Some(block) = self.block_or_load(id)? else { continue };
                if let Some(owner) = block.owner
                    && self.bring(owner)?
                {
                    parents.insert(owner, self.board.step(owner).expect("it was just brought").clone());
                }
                blocks.insert(id, block);
            }
        }
        Ok((blocks, parents))
    }

    pub(super) fn reports(
        &mut self,
        turn: &mut Turn,
        mut reports: Vec<Report>,
        reply: Reply<Vec<ReportAnswer>>,
        now: Timestamp,
    ) -> Result<()> {
        // What comes from another node was covered there, before it was written down.
        if matches!(reply, Reply::Caller(_)) {
            reports.iter_mut().try_for_each(|report| self.cover_report(report))?;
        }
        if !self.owns_all() && matches!(reply, Reply::Caller(_)) {
            return self.reports_apart(turn, reports, reply, now);
        }
        let mut answers = Vec::with_capacity(reports.len());
        for report in reports {
            answers.push(self.report(turn, report, now)?);
        }
        turn.acts.reply(reply, answers);
        Ok(())
    }

    /// Some of the reports may be for other nodes to apply; the caller hears when all are.
    fn reports_apart(
        &mut self,
        turn: &mut Turn,
        reports: Vec<Report>,
        reply: Reply<Vec<ReportAnswer>>,
        now: Timestamp,
    ) -> Result<()> {
        let gather = Gather::new(reports.len(), reply);
        let mut abroad: BTreeMap<DispatchGroup, (Vec<usize>, Vec<Report>)> = BTreeMap::new();
        let (mut at, mut answers) = (Vec::new(), Vec::new());
        for (i, report) in reports.into_iter().enumerate() {
            match self.group_abroad(&report)? {
                Some(group) => {
                    let part = abroad.entry(group).or_default();
                    self.sessions.took_back(report.session, report.step, Some(report.attempt));
                    if let Some(live) = self.sessions.get_mut(report.session) {
                        live.reported.insert(report.step, report.attempt);
                    }
                    part.0.push(i);
                    part.1.push(report);
                }
                None => {
                    at.push(i);
                    answers.push(self.report(turn, report, now)?);
                }
            }
        }
        for (group, (at, reports)) in abroad {
            let part = gather.clone();
            let tell =
                move |answer: std::result::Result<&str, EngineError>| part.put(&at, answer.and_then(read));
            let of = reports.iter().map(|r| (r.session, r.step)).collect();
            let then = Then::Reported { of, tell: Box::new(tell) };
            self.ask(turn, &group, &Signal::Reports { reports }, then);
        }
        turn.acts.once_durable(move |outcome| gather.put(&at, outcome.map(|()| answers)));
        Ok(())
    }

    /// The group of a reported step, if another node decides about it.
    fn group_abroad(&mut self, report: &Report) -> Result<Option<DispatchGroup>> {
        let live = self.sessions.get(report.session);
        match live.and_then(|l| l.held.get(&report.step)) {
            Some(hold) => Ok((!self.owns(&hold.dispatch_group)).then(|| hold.dispatch_group.clone())),
            None => self.foreign_group(report.step),
        }
    }

    fn report(&mut self, turn: &mut Turn, mut report: Report, now: Timestamp) -> Result<ReportAnswer> {
        self.sessions.took_back(report.session, report.step, Some(report.attempt));
        if !self.bring(report.step)? {
            return Ok(ReportAnswer::Late);
        }
        let poll = self.poll_of(report.step)?;
        if let Some((plan, part)) = &poll {
            self.look_at_poll(&mut report, plan, *part)?;
        }
        if let Some(faults) = self.add_children(turn, &report, now)? {
            let message = format!("its children were refused: {}", EngineError::Invalid(faults));
            let failure = model::Failure { message, trace: None };
            report.outcome = Outcome::Fail { failure, notify: true };
        }
        self.look_at_answer(&mut report)?;
        let step = self.board.step(report.step).expect("it was just brought");
        let log = std::mem::take(&mut report.log);
        if !log.is_empty()
            && (1..=step.attempt).rev().take(limits::LOG_RUNS_MAX as usize).any(|a| a == report.attempt)
        {
            turn.logs.push((report.step, report.attempt, bounded(log)));
        }
        let delivery = report.delivery.take().map(|delivery| delivery.bounded(now));
        if let Some((plan, part)) = poll
            && let Some(polled) = polled(&plan, part, step, &report, now)
        {
            turn.deliveries.extend(delivery.map(|d| ((report.step, report.attempt), d)));
            self.polled(turn, &plan, part, polled, now)?;
            return Ok(ReportAnswer::Applied);
        }
        let children = step.child_block.and_then(|b| self.board.block(b));
        match worker::decide(step, children, &report, now) {
            Answer::Late => {
                turn.attempts.push(attempts::late(&report, delivery, now));
                self.board.apply(Effect::RecordLate { step: report.step }).expect("recording moves no step");
                Ok(ReportAnswer::Late)
            }
            Answer::Applied(effects) => {
                for effect in effects {
                    if let Err(refused) = self.board.apply(effect) {
                        return Err(StoreError::Lost { what: refused.to_string() });
                    }
                }
                if let Some(at) = self.board.step(report.step).and_then(|s| s.wake_at) {
                    self.timers.set(now, at, report.step);
                }
                turn.deliveries.extend(delivery.map(|d| ((report.step, report.attempt), d)));
                Ok(ReportAnswer::Applied)
            }
        }
    }

    /// Children that travel in a report become rows with it, if the report still counts.
    fn add_children(
        &mut self,
        turn: &mut Turn,
        report: &Report,
        now: Timestamp,
    ) -> Result<Option<Vec<model::Fault>>> {
        let Outcome::Children { children, success, .. } = &report.outcome else { return Ok(None) };
        let step = self.board.step(report.step).expect("it was just brought");
        let current =
            step.is_held() && step.attempt == report.attempt && step.session == Some(report.session);
        if !current || children.is_empty() {
            return Ok(None);
        }
        let children: Vec<NewStep> =
            children.iter().map(|c| NewStep { parent_step_id: Some(report.step), ..c.clone() }).collect();
        match self.plan(turn, &children, now)? {
            Err(faults) => Ok(Some(faults)),
            Ok(mut plan) => {
                let own = plan.adopt.iter().find(|(s, _)| *s == report.step).map(|(_, b)| *b);
                for block in plan.blocks.iter_mut().filter(|b| Some(b.id) == own) {
                    block.success = *success;
                }
                self.carry_out(turn, plan)?;
                Ok(None)
            }
        }
    }

    fn switch(
        &mut self,
        turn: &mut Turn,
        scope: Option<DispatchGroup>,
        breaker: Breaker,
        by: String,
        reply: Reply<Breaker>,
    ) {
        let (target, before) = match &scope {
            None => ("breaker".to_string(), self.breaker.clone()),
            Some(group) => match self.group_breakers.get(group) {
                Some(breaker) => (format!("breaker of {group}"), breaker.clone()),
                None => {
                    return turn.acts.refuse(reply, EngineError::NoGroup(group.to_string()));
                }
            },
        };
        let text = |b: &Breaker| serde_json::to_string(b).unwrap_or_default();
        turn.audit.push(AuditEntry {
            who: by,
            verb: if breaker.off { "breaker off" } else { "breaker on" }.into(),
            target,
            why: breaker.why.clone(),
            before: Some(text(&before)),
            after: Some(text(&breaker)),
        });
        match scope {
            None => {
                self.breaker = breaker.clone();
                turn.breaker = Some(breaker.clone());
            }
            Some(group) => {
                self.group_breakers.insert(group.clone(), breaker.clone());
                turn.groups.push(GroupWrite { breaker: Some(breaker.clone()), ..GroupWrite::of(group) });
            }
        }
        turn.hold = true;
        self.switched_in = self.turn_number;
        turn.wake.insert(Wake::Everybody);
        turn.acts.reply(reply, breaker);
    }

    fn heartbeat(
        &mut self,
        turn: &mut Turn,
        session: SessionId,
        received: u64,
        held: &[(StepId, u32)],
        reply: Reply<Vec<(StepId, u32)>>,
        now: Timestamp,
    ) -> Result<()> {
        let Some(live) = self.sessions.get_mut(session) else {
            turn.acts.refuse(reply, EngineError::NoSession);
            return Ok(());
        };
        live.session.lease_ends_at = now + limits::SESSION_LEASE;
        // What was handed out and arrived, but is not named, is lost; what is named but not held is to be dropped.
        let named: HashMap<StepId, u32> = held.iter().copied().collect();
        let mut lost: Vec<(StepId, Hold)> = live
            .held
            .iter()
            .filter(|(id, hold)| hold.number <= received && named.get(id) != Some(&hold.attempt))
            .map(|(id, hold)| (*id, hold.clone()))
            .collect();
        lost.sort_unstable_by_key(|(id, _)| *id);
        let still = |id: &StepId, attempt: u32| {
            live.held.get(id).is_some_and(|h| h.attempt == attempt) || live.reported.get(id) == Some(&attempt)
        };
        let revoked = held.iter().filter(|(id, attempt)| !still(id, *attempt)).copied();
        let revoked: Vec<(StepId, u32)> = revoked.collect();
        // What a session had before it came back here may never have reached it.
        let (unsure, lost): (Vec<_>, Vec<_>) = lost.into_iter().partition(|(_, hold)| hold.number == 0);
        self.hand_again(turn, session, unsure)?;
        let (own, abroad) = self.part(lost);
        for id in own {
            self.take_back(turn, session, id)?;
        }
        for (_, (id, _)) in &abroad {
            self.sessions.took_back(session, *id, None);
        }
        self.say(turn, Word::Lost(session, abroad));
        turn.acts.reply(reply, revoked);
        Ok(())
    }

    fn leave(
        &mut self,
        turn: &mut Turn,
        session: SessionId,
        give_back: bool,
        reply: Reply<()>,
        now: Timestamp,
    ) -> Result<()> {
        if let Some(live) = self.sessions.get_mut(session) {
            live.leaving = true;
            if give_back {
                let (own, abroad) = self.part(self.sessions.held_by(session));
                for id in own {
                    self.give_back(session, id)?;
                }
                self.say(turn, Word::GivenBack(session, abroad));
                self.end_session(turn, session, now);
                self.sessions.remove(session);
            }
            self.want()?;
        }
        turn.acts.reply(reply, ());
        Ok(())
    }

    /// A step comes back from a session that stops in good order, at no cost.
    pub(super) fn give_back(&mut self, session: SessionId, id: StepId) -> Result<()> {
        self.sessions.took_back(session, id, None);
        if self.bring(id)? && self.board.step(id).is_some_and(|s| s.is_held() && s.session == Some(session)) {
            let given = model::Move::new(id, model::Event::GivenBack);
            self.board
                .apply(Effect::MoveStep(Box::new(given)))
                .map_err(|e| StoreError::Lost { what: e.to_string() })?;
        }
        Ok(())
    }

    pub(super) fn put_session(&mut self, turn: &mut Turn, id: SessionId) {
        turn.sessions.extend(self.session_row(id, None));
    }
    /// It is on record as ended, also if this turn is not stored.
    pub(super) fn end_session(&mut self, turn: &mut Turn, id: SessionId, now: Timestamp) {
        if let Some(row) = self.session_row(id, Some(now)) {
            self.say(turn, Word::Ended(row));
        }
    }
    fn session_row(&self, id: SessionId, ended_at: Option<Timestamp>) -> Option<SessionRow> {
        let Some(live) = self.sessions.get(id) else {
            return self.sessions.left(id).map(|row| SessionRow { ended_at, ..row.clone() });
        };
        Some(SessionRow {
            id,
            node: self.row.id,
            offer: live.session.offer.clone(),
            started_at: live.started_at,
            lease_ends_at: live.session.lease_ends_at,
            ended_at,
        })
    }

    /// Windows follow what sessions offer; a new offer makes everything on disk worth another look.
    pub(super) fn want(&mut self) -> Result<()> {
        if self.board.windows.want(self.wanted()) {
            self.sources.restart();
            self.timers.restart();
            if std::mem::take(&mut self.board.forgot_blocks) {
                for block in store::open_blocks(self.store.reader(), &self.lease)? {
                    self.board.load_block(block);
                }
            }
            self.reopen_blocks();
            // What is not durable yet cannot be read again, but it is in hand.
            self.board.refresh_all();
        }
        Ok(())
    }
}

/// The last lines that fit.
fn bounded(mut log: Vec<model::LogLine>) -> Vec<model::LogLine> {
    let mut bytes = 0;
    let mut fits = |line: &model::LogLine| {
        bytes += line.text.len() + limits::LOG_LINE_BYTES;
        bytes <= limits::LOG_BYTES_MAX
    };
    let kept = log.iter().rev().take_while(|line| fits(line)).count();
    log.drain(..log.len() - kept);
    for line in log.iter_mut().filter(|line| line.text.contains('\0')) {
        line.text = line.text.replace('\0', "\\0");
    }
    log
}

/// Answer a request that cannot be looked at now.
pub fn refuse(request: Request, problem: &StoreError) {
    fn no<T>(reply: Reply<T>, problem: &StoreError) {
        reply.send(Err(EngineError::Unavailable(problem.clone())));
    }
    match request {
        Request::Create { reply, .. } => no(reply, problem),
        Request::Operate { reply, .. } => no(reply, problem),
        Request::OperateGroup { reply, .. } => no(reply, problem),
        Request::StartWorkflow { reply, .. } => no(reply, problem),
        Request::OperateWorkflow { reply, .. } => no(reply, problem),
        Request::Trigger { reply, .. } => no(reply, problem),
        Request::PauseToken { reply, .. } => no(reply, problem),
        Request::Detect { reply, .. } => no(reply, problem),
        Request::Looked { reply, .. } => super::stuck::refused(reply, problem),
        Request::RecoverPolls { reply, .. } => no(reply, problem),
        Request::Tell { reply, .. } => no(reply, problem),
        Request::Breaker { reply, .. } => no(reply, problem),
        Request::Join { reply, .. } | Request::JoinAgain { reply, .. } => no(reply, problem),
        Request::Reports { reply, .. } => no(reply, problem),
        Request::Heartbeat { reply, .. } => no(reply, problem),
        Request::Leave { reply, .. } => no(reply, problem),
        Request::Attend { reply, .. } | Request::Published { reply, .. } => no(reply, problem),
        Request::Begin { reply, .. } => no(reply, problem),
        Request::Tick { reply, .. } => no(reply, problem),
        Request::Stop { reply } => no(reply, problem),
        Request::Committed { .. } | Request::Wake(_) | Request::Store(_) | Request::Halt => {}
    }
}
