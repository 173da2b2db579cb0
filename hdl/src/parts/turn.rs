//! Candidates in rotating order.

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
