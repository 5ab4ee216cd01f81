//! The children of a parent: which of them wants a connection or a request.
//!
//! For requests, the most specific host of all children decides, and then its rules: equal paths first, then beginnings,
//! ends, parts, regular expressions, negated rules, and at last rules without a path. Of rules of one kind the longest goes first.
//! Of rules for the same paths, those go first that want more of a request: then by the names of the children.
//!
//! Servers may read a path in another way than rules do: with dot segments and empty segments removed. A request whose
//! path leads to different children in these two ways is for none.

use std::{cmp::Reverse, sync::Arc};

use weir_policy::RequestPath;
use weir_rules::Conditions;

use crate::{
    VirtualService,
    hosts::{HostName, Hosts},
    path_rule::PathRule,
    role::Wish,
    wanted::Wanted,
};

/// One child wants the path of a request as it stands, and another one what servers make of it: with neither can it be
/// said whose rules hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AmbiguousPath;

#[derive(Clone, Debug)]
struct Route {
    path: Option<PathRule>,
    wanted: Option<Wanted>,
    /// Where the child says so: of its routes that match alike, the first goes first.
    place: usize,
    to: Wanting,
}

/// A child that wants a request.
#[derive(Clone, Debug)]
pub struct Wanting {
    pub child: Arc<VirtualService>,
    /// The name of its rule that says so. `None`: it has no rule for this host.
    pub rule: Option<Arc<str>>,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Children {
    /// The routes of each host, in the order in which they are tried.
    hosts: Hosts<Arc<Vec<Route>>>,
}

impl Children {
    /// The child with this server name.
    pub fn by_name(&self, name: HostName<'_>) -> Option<&Arc<VirtualService>> {
        self.hosts.find(name)?.first().map(|route| &route.to.child)
    }

    /// The child that wants a request; `None`: none does. `hold`: whether the request matches what a child wants beside
    /// host and path.
    pub fn by_request(
        &self,
        host: HostName<'_>,
        target: &[u8],
        hold: &mut dyn FnMut(&Conditions) -> bool,
    ) -> Result<Option<&Wanting>, AmbiguousPath> {
        let Some(routes) = self.hosts.find(host) else { return Ok(None) };
        let mut wanting = |path: &RequestPath<'_>| {
            let wants = |route: &&Route| {
                route.path.as_ref().is_none_or(|rule| rule.matches(path))
                    && route.wanted.as_ref().is_none_or(|wanted| hold(&wanted.conditions))
            };
            routes.iter().find(wants).map(|route| &route.to)
        };
        let path = RequestPath::of(target);
        let child = wanting(&path);
        let id = |wanting: Option<&Wanting>| wanting.map(|wanting| wanting.child.id);
        match path.simplified() {
            Some(simple) if id(wanting(&simple)) != id(child) => Err(AmbiguousPath),
            _ => Ok(child),
        }
    }

    /// Adds what a child wants. Error: the name of another child that wants the same hosts and paths. Of children that want
    /// the same of requests beside these, the first by name gets them: two ways to say the same are not told here.
    pub fn add(&mut self, wish: &Wish, child: &Arc<VirtualService>) -> Result<(), String> {
        let mut routes = self.hosts.take(&wish.pattern).unwrap_or_default();
        let added = add_all(Arc::make_mut(&mut routes), wish, child);
        self.hosts.put(&wish.pattern, routes);
        added
    }

    /// Removes what a child wants.
    pub fn remove(&mut self, wish: &Wish, uuid: &str) {
        let Some(mut routes) = self.hosts.take(&wish.pattern) else { return };
        Arc::make_mut(&mut routes).retain(|route| route.to.child.uuid != uuid);
        if !routes.is_empty() {
            self.hosts.put(&wish.pattern, routes);
        }
    }
}

fn add_all(routes: &mut Vec<Route>, wish: &Wish, child: &Arc<VirtualService>) -> Result<(), String> {
    let rule = Some(&wish.rule).filter(|rule| !rule.is_empty()).map(|rule| Arc::from(rule.as_str()));
    let to = Wanting { child: child.clone(), rule };
    let route = Route { path: wish.path.clone(), wanted: wish.wanted.clone(), place: routes.len(), to };
    match routes.binary_search_by(|other| other.rank().cmp(&route.rank())) {
        Err(at) => routes.insert(at, route),
        Ok(at) if routes[at].to.child.uuid == child.uuid => {}
        Ok(at) => return Err(routes[at].to.child.name.clone()),
    }
    Ok(())
}

impl Route {
    /// Different for routes that differ. Of two rules that differ in case alone, the one that matches less goes first; of
    /// rules for the same paths, the one that wants more.
    fn rank(&self) -> Rank<'_> {
        let kind = self.path.as_ref().map_or(PathRule::NO_PATH, PathRule::kind);
        let longest = self.path.as_ref().map_or(0, PathRule::value_bytes);
        let matches_more = self.path.as_ref().is_some_and(PathRule::matches_more);
        let beside = self.wanted.as_ref().map(|wanted| {
            let child = &self.to.child;
            (Reverse(wanted.conditions.count()), child.name.as_str(), child.uuid.as_str(), self.place)
        });
        let path = (kind, Reverse(longest), matches_more, self.path.as_ref());
        (path, beside.is_none(), beside)
    }
}

type Rank<'r> =
    ((u8, Reverse<usize>, bool, Option<&'r PathRule>), bool, Option<(Reverse<usize>, &'r str, &'r str, usize)>);
