//! Round-robin arbitration.

use serde::{Deserialize, Serialize};

use crate::rtl::{Circuit, Documented, In, Module, Out, ParameterError, Ports, index_bits};

/// Round-robin arbiter: grants one of several requests, each in its turn.
///
/// The search begins behind the request granted last, so a request that stays up is granted after at most
/// `requests` grants. The turn passes only in cycles where the grant is taken.
///
/// Timing: a grant answers the requests of the same cycle.
#[derive(Clone, Debug, Serialize, Deserialize, Documented)]
#[serde(deny_unknown_fields)]
pub struct RoundRobinArbiter {
    /// Requests, 1 to 1024.
    pub requests: usize,
}

/// Ports of a [`RoundRobinArbiter`].
#[derive(Clone, Ports)]
#[params(RoundRobinArbiter)]
pub struct ArbiterIo<'m> {
    /// One bit a request.
    #[bits(p.requests)]
    pub request_i: In<'m>,
    /// The grant is used in this cycle.
    pub take_i: In<'m>,
    /// Some request is granted.
    pub valid_o: Out<'m>,
    /// The request granted, one hot; 0 if none is.
    #[bits(p.requests)]
    pub grant_o: Out<'m>,
    /// The number of the request granted.
    #[bits(index_bits(p.requests))]
    pub index_o: Out<'m>,
}

impl Circuit for RoundRobinArbiter {
    type Io<'m> = ArbiterIo<'m>;
    const NAME: &'static str = "round_robin_arbiter";

    fn validate(&self) -> Result<(), ParameterError> {
        Self::check_range("requests", self.requests, 1..=1024)
    }

    fn build<'m>(&self, m: &Module<'m>, io: &ArbiterIo<'m>) {
        // Bit i: request i comes behind the one granted last.
        let behind_last = m.register("behind_last", self.requests).reset(0);
        let first = io.request_i & behind_last;
        let grant = first.any().mux(first, io.request_i).lowest_one();

        io.valid_o.set(io.request_i.any());
        io.grant_o.set(grant);
        io.index_o.set(grant.priority_encode()).valid_when(io.valid_o);

        m.when(io.take_i & io.valid_o, || {
            behind_last.set(grant.prefix_or() & !grant);
        });

        m.invariant("a_grant_is_a_request", (grant & !io.request_i).any().eq(0));
        m.invariant("one_request_at_most_is_granted", grant.popcount().le(1));
        m.invariant("a_request_means_a_grant", io.request_i.any().eq(grant.any()));
    }
}
