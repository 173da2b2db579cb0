//! Candidates in rotating order, and places that are filled in it.

use crate::rtl::Signal;

/// The places from `index` on, one bit each of `places`.
pub(crate) fn from(index: Signal<'_>, places: usize) -> Signal<'_> {
    !(index.decode(places) - 1)
}

/// The places behind `index`, one bit each of `places`.
pub(crate) fn behind(index: Signal<'_>, places: usize) -> Signal<'_> {
    let here = index.decode(places);
    !(here | (here - 1))
}

/// The first of `candidates` that is one of the `preferred` places, else the first of all; place 0 if there is none.
pub(crate) fn first<'m>(candidates: Signal<'m>, preferred: Signal<'m>) -> Signal<'m> {
    let ahead = candidates & preferred;
    ahead.any().mux(ahead, candidates).priority_encode()
}

/// Whether the places `filled` are those from `head` on to the one before `tail`. Where both are the same place, all or
/// none are.
pub(crate) fn lie_between<'m>(filled: Signal<'m>, head: Signal<'m>, tail: Signal<'m>) -> Signal<'m> {
    let places = filled.width();
    let (from_head, before_tail) = (from(head, places), !from(tail, places));
    let between = head.lt(tail).mux(from_head & before_tail, from_head | before_tail);
    head.eq(tail).mux(filled.all() | !filled.any(), filled.eq(between))
}
