//! Who has a place among the connections that are made to the switch.
//!
//! A place belongs to a user of this machine, where the peer is one, else to an address. Nobody but the
//! administrator has more than [`EACH_MAX`] places, and some are kept for the administrator: root, or the
//! user that the switch runs as. What somebody asked for before it went
//! counts as its place until it is done. Where all others are taken, who has many gives one up to who has few,
//! the one that was heard least. So whoever fills all places with connections keeps himself out, and no other.

use std::net::IpAddr;
use tenuto_units::Instant;

/// Connections at once that are made to the switch. Those that it makes itself have room of their own:
/// nobody can keep its controllers out.
pub(super) const SERVICE_MAX: u16 = 64;
/// Of these, for the administrator alone.
const KEPT_PLACES: u16 = 8;
/// Of these, from one address that is no loopback one, and of one user that is not the administrator.
const EACH_MAX: u16 = 16;

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The address, or the network that counts as one.
    pub(super) address: IpAddr,
    /// Whose it is, if that is known.
    pub(super) owner: Owner,
}

/// Whose a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// Of root, or of the user that the switch runs as, on this machine.
    Administrator,
    /// Of another user of this machine.
    User(u32),
    /// Of whoever is at this address.
    Address(IpAddr),
}

/// A place that is taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    /// By whom.
    pub(super) origin: Origin,
    /// When the last whole message came, if any has.
    pub(super) heard: Option<Instant>,
    /// When it was taken.
    pub(super) began: Instant,
    /// Whether its connection is there; else it has gone, and what it asked for is still under way.
    pub(super) is_there: bool,
}

/// What becomes of a new connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It has a place.
    Takes,
    /// It has that of another, by its position among those that are taken.
    Replaces(usize),
    /// It has none.
    Refused(String),
}

impl Origin {
    /// Of a peer at `address`, which a user of this machine has connected if that is known; `own` is the
    /// user that the switch runs as.
    pub(super) fn new(address: IpAddr, user: Option<u32>, own: u32) -> Self {
        let owner = match user {
            Some(user) if user == 0 || user == own => Owner::Administrator,
            Some(user) => Owner::User(user),
            None => Owner::Address(address),
        };
        Self { address, owner }
    }
}

/// Judges a new connection by the places that are taken.
pub(super) fn judge(taken: &[Taken], new: Origin) -> Verdict {
    let of_owner = |owner| taken.iter().filter(|it| it.origin.owner == owner).count();
    let (own, each) = (of_owner(new.owner), usize::from(EACH_MAX));
    let from_there = taken.iter().filter(|it| it.origin.address == new.address).count();
    let is_full = |limit: &str| Verdict::Refused(limit.to_owned());
    if !new.address.is_loopback() && from_there >= each {
        return is_full(&format!(
            "{EACH_MAX} are connected from {}, which is the most",
            new.address
        ));
    }
    match new.owner {
        Owner::User(user) if own >= each => {
            return is_full(&format!("{EACH_MAX} of user {user} are connected, which is the most"));
        }
        Owner::Administrator if taken.len() < usize::from(SERVICE_MAX) => return Verdict::Takes,
        Owner::Administrator => {}
        // Of this machine, but nobody knows whose: as one user.
        Owner::Address(address) if address.is_loopback() && own >= each => {
            return is_full(&format!(
                "{EACH_MAX} of unknown users are connected, which is the most"
            ));
        }
        Owner::User(_) | Owner::Address(_) => {
            let others = taken.len() - of_owner(Owner::Administrator);
            let most = usize::from(SERVICE_MAX - KEPT_PLACES);
            if others < most && taken.len() < usize::from(SERVICE_MAX) {
                return Verdict::Takes;
            }
        }
    }
    let is_other = |owner| owner != Owner::Administrator && owner != new.owner;
    // Work that is under way is not given up.
    let others = (0..taken.len())
        .filter(|&place| taken[place].is_there && is_other(taken[place].origin.owner));
    let least_heard = |place: usize| {
        let it = &taken[place];
        // Of several with as many places: who was heard least, never at all before all others.
        (it.heard, it.began)
    };
    let first_to_go = others.max_by_key(|&place| {
        (of_owner(taken[place].origin.owner), std::cmp::Reverse(least_heard(place)))
    });
    let gives_way = |place: &usize| own + 1 < of_owner(taken[*place].origin.owner);
    match first_to_go.filter(gives_way) {
        Some(place) => Verdict::Replaces(place),
        None => is_full(&format!("{} are connected to the switch, which is the most", taken.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SWITCH: u32 = 990;

    fn local(user: u32) -> Origin {
        Origin::new([127, 0, 0, 1].into(), Some(user), SWITCH)
    }

    fn remote(host: u8) -> Origin {
        Origin::new([10, 0, 0, host].into(), None, SWITCH)
    }

    /// Has them connect one after the other, at as many nanoseconds; the places, and who was refused.
    fn connect(taken: &mut Vec<Taken>, who: impl IntoIterator<Item = Origin>) -> usize {
        let mut refused = 0;
        for origin in who {
            let began = Instant::from_ns(taken.len() as u64);
            let new = Taken { origin, heard: None, began, is_there: true };
            match judge(taken, origin) {
                Verdict::Takes => taken.push(new),
                Verdict::Replaces(place) => taken[place] = new,
                Verdict::Refused(_) => refused += 1,
            }
        }
        refused
    }

    fn count(taken: &[Taken], owner: Owner) -> usize {
        taken.iter().filter(|it| it.origin.owner == owner).count()
    }

    #[test]
    fn one_user_does_not_keep_the_tools_of_others_out() {
        let mut taken = Vec::new();
        assert_eq!(connect(&mut taken, [local(1_000); 64]), 48);
        for administrator in [local(0), local(SWITCH)] {
            assert_eq!(administrator.owner, Owner::Administrator);
            assert_eq!(judge(&taken, administrator), Verdict::Takes);
        }
        assert_eq!(judge(&taken, local(1_001)), Verdict::Takes);
        assert_eq!(judge(&taken, remote(1)), Verdict::Takes);
        let why = "16 of user 1000 are connected, which is the most";
        assert_eq!(judge(&taken, local(1_000)), Verdict::Refused(why.into()));
    }

    #[test]
    fn a_place_is_always_free_for_the_administrator() {
        let mut taken = Vec::new();
        connect(&mut taken, (0..200).map(remote));
        assert_eq!(taken.len(), 56);
        assert_eq!(connect(&mut taken, [local(0); 8]), 0);
        // Of those who have one each nobody gives way.
        assert!(matches!(judge(&taken, local(0)), Verdict::Refused(_)));
        let mut taken = Vec::new();
        let users = (1_000..1_004).flat_map(|user| [local(user); 16]);
        assert_eq!(connect(&mut taken, users), 2, "14 each");
        assert_eq!((connect(&mut taken, [local(0); 64]), taken.len()), (52, 64));
        assert_eq!(count(&taken, Owner::Administrator), 12, "others have 13");
    }

    #[test]
    fn who_has_many_gives_way_to_who_has_few() {
        let mut taken = Vec::new();
        connect(&mut taken, (0..4).flat_map(|user| [local(1_000 + user); 14]));
        assert_eq!(taken.len(), 56);
        for place in &mut taken {
            place.heard = Some(Instant::from_ns(9));
        }
        // Of the many this one was never heard.
        taken[20].heard = None;
        assert_eq!(judge(&taken, remote(1)), Verdict::Replaces(20));
        taken[20].heard = Some(Instant::from_ns(8));
        assert_eq!(judge(&taken, local(2_000)), Verdict::Replaces(20));
        let newcomers = (0..60_u8).map(remote);
        assert!(connect(&mut taken, newcomers) > 0, "none of them has two");
        let users = (0..4).map(|user| count(&taken, Owner::User(1_000 + user)));
        assert_eq!(users.collect::<Vec<_>>(), [1; 4], "everybody keeps one");
    }

    #[test]
    fn one_address_has_so_many_whoever_is_there() {
        let mut taken = Vec::new();
        assert_eq!(connect(&mut taken, [remote(1); 20]), 4);
        let own = Origin { address: [10, 0, 0, 2].into(), owner: Owner::Administrator };
        assert_eq!(connect(&mut taken, [own; 20]), 4);
        assert_eq!(connect(&mut taken, [local(0); 40]), 40 - 32, "64 in all");
    }

    /// A user asks for something long, goes, and connects again, until no work is free.
    #[test]
    fn work_of_who_has_gone_counts_as_its_places() {
        let mut taken = Vec::new();
        for _ in 0..64 {
            connect(&mut taken, [local(1_000)]);
            taken.iter_mut().for_each(|place| place.is_there = false);
        }
        assert_eq!(count(&taken, Owner::User(1_000)), 16);
        assert_eq!(judge(&taken, local(1_001)), Verdict::Takes);
        assert_eq!(judge(&taken, local(0)), Verdict::Takes);
        // Where all is taken, a connection gives way, not work.
        connect(&mut taken, (1_001..1_004).flat_map(|user| [local(user); 14]));
        assert_eq!(taken.len(), 56);
        assert!(
            matches!(judge(&taken, remote(1)), Verdict::Replaces(place) if taken[place].is_there)
        );
    }

    #[test]
    fn unknown_users_of_this_machine_are_one() {
        let unknown = Origin::new([127, 0, 0, 1].into(), None, SWITCH);
        let mut taken = Vec::new();
        assert_eq!(connect(&mut taken, [unknown; 20]), 4);
        assert_eq!(judge(&taken, local(1_000)), Verdict::Takes);
    }
}
