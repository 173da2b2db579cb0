//! Stretches of the schedule that run under a condition, and which values leave them.

use super::graph::{Graph, InstId};
use super::guards::Literal;
use super::scattered::scattered;
use super::schedule::Scheduled;
use crate::plan::operands::Operand;

/// Index into [`Segments::list`].
pub type SegmentId = usize;

/// The segment that always runs.
pub const ROOT: SegmentId = 0;

/// A stretch that runs where a condition holds.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// The segment around it, where the condition is looked at; the root is its own parent.
    pub parent: SegmentId,
    /// The condition; `None` for the root.
    pub condition: Option<Literal>,
}

/// A schedule cut into segments.
#[derive(Clone, Debug)]
pub struct Segments {
    pub list: Vec<Segment>,
    /// Instructions in order, with their segment.
    pub order: Vec<(InstId, SegmentId)>,
    /// Instructions whose result is read after the circuit has settled.
    pub kept: Vec<bool>,
    /// Instructions whose result is read in a segment that is not inside theirs.
    pub exported: Vec<bool>,
    /// Instructions whose result is stored, as several segments, or what the edge does under enables, would work it out.
    pub scattered: Vec<bool>,
}

impl Segments {
    pub fn new(graph: &Graph, schedule: &[Scheduled]) -> Segments {
        let count = graph.plan.program.len();
        let mut segments = Segments {
            list: vec![Segment { parent: ROOT, condition: None }],
            order: Vec::with_capacity(schedule.len()),
            kept: vec![false; count],
            exported: vec![false; count],
            scattered: Vec::new(),
        };
        let mut open: Vec<(Literal, SegmentId)> = Vec::new();
        for Scheduled { id, guard } in schedule {
            let common = open.iter().zip(guard).take_while(|((open, _), literal)| open == *literal).count();
            open.truncate(common);
            for literal in &guard[common..] {
                let parent = open.last().map_or(ROOT, |(_, segment)| *segment);
                segments.list.push(Segment { parent, condition: Some(*literal) });
                open.push((*literal, segments.list.len() - 1));
            }
            segments.order.push((*id, open.last().map_or(ROOT, |(_, segment)| *segment)));
        }
        segments.find_exports(graph);
        graph.visit_roots(&mut |(place, _)| {
            if let Some(id) = graph.producer(place) {
                segments.kept[id] = true;
            }
        });
        segments.scattered = scattered(graph, &segments);
        segments
    }

    fn find_exports(&mut self, graph: &Graph) {
        let mut home = vec![ROOT; graph.plan.program.len()];
        self.order.iter().for_each(|&(id, segment)| home[id] = segment);
        let mut exported = std::mem::take(&mut self.exported);
        let mut read = |(place, _): Operand, from: SegmentId| {
            if let Some(id) = graph.producer(place)
                && !self.is_within(from, home[id])
            {
                exported[id] = true;
            }
        };
        for &(id, segment) in &self.order {
            graph.plan.program[id].visit_operands(graph.plan, &mut |operand| read(operand, segment));
        }
        for segment in &self.list {
            if let Some(condition) = segment.condition {
                read((condition.place, crate::plan::operands::Need::Always), segment.parent);
            }
        }
        self.exported = exported;
    }

    /// Whether `inner` is `outer` or inside it.
    fn is_within(&self, mut inner: SegmentId, outer: SegmentId) -> bool {
        while inner > outer {
            inner = self.list[inner].parent;
        }
        inner == outer
    }

    /// The segments around `segment`, itself included, outermost first, without the root.
    pub fn path(&self, mut segment: SegmentId) -> Vec<SegmentId> {
        let mut path = Vec::new();
        while segment != ROOT {
            path.push(segment);
            segment = self.list[segment].parent;
        }
        path.reverse();
        path
    }
}
