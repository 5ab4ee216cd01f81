//! A virtual service whose ports do not all have the same profiles. For the listeners of each combination of profiles it
//! is a variant of itself: with the same id, so that they are counted together, and with other settings.

use std::sync::Arc;

use weir_api::dataplane::v1;

use crate::{
    VirtualService,
    finding::Findings,
    service::{KeptService, Part, ServiceReader, subject},
};

impl ServiceReader<'_> {
    /// `None` if the service is unusable; the findings give the reasons.
    pub fn read(
        &mut self,
        source: &Arc<v1::VirtualService>,
        before: Option<&Arc<KeptService>>,
        findings: &mut Findings,
    ) -> Option<Arc<KeptService>> {
        match source.variants.is_empty() {
            true => self.read_part(Part { source, whole: source, id: None }, before, findings),
            false => self.read_with_variants(source, before, findings),
        }
    }

    fn read_with_variants(
        &mut self,
        source: &Arc<v1::VirtualService>,
        before: Option<&Arc<KeptService>>,
        findings: &mut Findings,
    ) -> Option<Arc<KeptService>> {
        let shares_listeners = !source.parent_uuid.is_empty() || source.hosting != 0;
        if shares_listeners || source.variants.iter().any(|variant| !variant.variants.is_empty()) {
            let message = "parents, children and variants have no variants";
            findings.error(subject(source), "services", message);
            return None;
        }
        let own = Part { source: &Arc::new(own_part(source)), whole: source, id: None };
        let own = self.read_part(own, before, findings);
        // Without a service, the Plan is refused, and ids with it.
        let id = own.as_ref().map_or(0, |own| own.object.id);
        let mut variants = Vec::with_capacity(source.variants.len());
        for (variant, number) in source.variants.iter().zip(1..) {
            let before = before.and_then(|before| before.variants.get(number as usize - 1));
            let source = Arc::new(variant_part(source, variant, number));
            variants.push(self.read_part(Part { source: &source, whole: &source, id: Some(id) }, before, findings));
        }
        let (own, variants) = (own?, variants.into_iter().collect::<Option<Vec<_>>>()?);
        let mut warnings = own.warnings.to_vec();
        for warning in variants.iter().flat_map(|variant| variant.warnings.iter()) {
            if !warnings.contains(warning) {
                warnings.push(warning.clone());
            }
        }
        let is_same = |before: &&Arc<KeptService>| {
            before.source == *source
                && *before.warnings == *warnings
                && Arc::ptr_eq(&before.object, &own.object)
                && before.variants.len() == variants.len()
                && before.variants.iter().zip(&variants).all(|(one, other)| Arc::ptr_eq(&one.object, &other.object))
        };
        if let Some(before) = before.filter(is_same) {
            return Some(before.clone());
        }
        let mut kept = KeptService::clone(&own);
        (kept.warnings, kept.variants) = (warnings.into(), variants);
        Some(Arc::new(kept))
    }
}

/// The virtual service for the listeners that name no variant.
fn own_part(whole: &v1::VirtualService) -> v1::VirtualService {
    v1::VirtualService { listeners: listeners(whole, 0), variants: Vec::new(), ..whole.clone() }
}

fn variant_part(whole: &v1::VirtualService, variant: &v1::VirtualService, number: u32) -> v1::VirtualService {
    v1::VirtualService {
        uuid: whole.uuid.clone(),
        name: whole.name.clone(),
        duty: whole.duty,
        engines: whole.engines,
        key_seed: whole.key_seed,
        hosting: 0,
        parent_uuid: String::new(),
        listeners: listeners(whole, number),
        ..variant.clone()
    }
}

fn listeners(whole: &v1::VirtualService, variant: u32) -> Vec<v1::Listener> {
    let named = whole.listeners.iter().filter(|listener| listener.variant == variant);
    named.map(|listener| v1::Listener { variant: 0, ..listener.clone() }).collect()
}

impl KeptService {
    /// What serves the clients of listeners with this variant; `None`: there is no such variant.
    pub fn variant(&self, number: u32) -> Option<&Arc<VirtualService>> {
        match number {
            0 => Some(&self.object),
            _ => self.variants.get(number as usize - 1).map(|variant| &variant.object),
        }
    }
}
