//! `#[flipped(Name)]` on a struct of ports: the struct of the other side.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{DeriveInput, Error, Ident, Result};

use crate::ports::{Kind, PortField, attribute};

/// The struct that `#[flipped(Name)]` asks for, and how the two meet; nothing without the attribute.
pub fn of(input: &DeriveInput, fields: &[PortField<'_>]) -> Result<TokenStream> {
    let Some(flipped) = attribute::<Ident>(&input.attrs, "flipped")? else { return Ok(TokenStream::new()) };
    let (name, visibility) = (&input.ident, &input.vis);
    let doc = format!("The other side of [`{name}`]: its inputs are outputs here.");
    let params = input.attrs.iter().filter(|attribute| attribute.path().is_ident("params"));
    let declared = fields.iter().map(flipped_field).collect::<Result<Vec<_>>>()?;
    let meetings = fields.iter().map(meeting).collect::<Result<Vec<_>>>()?;
    Ok(quote! {
        #[doc = #doc]
        #[derive(Clone, ::warpfile_hdl::rtl::Ports)]
        #(#params)*
        #visibility struct #flipped<'m> { #(#declared),* }

        impl<'m> ::warpfile_hdl::rtl::Connect<'m, #flipped<'m>> for #name<'m> {
            #[track_caller]
            fn connect(&self, m: &::warpfile_hdl::rtl::Module<'m>, other: &#flipped<'m>) {
                let _ = m;
                #(#meetings)*
            }
        }
    })
}

/// The field with the other direction, its other attributes kept.
fn flipped_field(field: &PortField<'_>) -> Result<TokenStream> {
    let (ident, visibility) = (flipped_name(field)?, &field.field.vis);
    // Whether an input is meaningful is for the other side to say.
    let attributes = field.field.attrs.iter().filter(|attribute| !attribute.path().is_ident("valid_when"));
    let direction = match field.kind {
        Kind::Input { .. } => quote!(::warpfile_hdl::rtl::Out<'m>),
        Kind::Output { .. } => quote!(::warpfile_hdl::rtl::In<'m>),
        Kind::Group { .. } => return Err(no_group(field)),
    };
    let ty = match field.is_repeated() {
        true => quote!(::std::vec::Vec<#direction>),
        false => direction,
    };
    Ok(quote!(#(#attributes)* #visibility #ident: #ty))
}

/// The statement that connects the field with that of the other side.
fn meeting(field: &PortField<'_>) -> Result<TokenStream> {
    let (here, there) = (field.ident, flipped_name(field)?);
    let one = match field.kind {
        Kind::Input { .. } => quote!(here.set(*there);),
        Kind::Output { .. } => quote!(there.set(*here);),
        Kind::Group { .. } => return Err(no_group(field)),
    };
    Ok(match field.is_repeated() {
        true => quote! {
            m.same_length(self.#here.len(), other.#there.len());
            for (here, there) in self.#here.iter().zip(&other.#there) { #one }
        },
        false => quote!({ let (here, there) = (&self.#here, &other.#there); #one }),
    })
}

/// `valid_i` of `valid_o`, and the other way round.
fn flipped_name(field: &PortField<'_>) -> Result<Ident> {
    let name = field.ident.to_string();
    let stem = &name[..name.len().saturating_sub(2)];
    match field.kind {
        Kind::Input { .. } => Ok(format_ident!("{stem}_o", span = field.ident.span())),
        Kind::Output { .. } => Ok(format_ident!("{stem}_i", span = field.ident.span())),
        Kind::Group { .. } => Err(no_group(field)),
    }
}

fn no_group(field: &PortField<'_>) -> Error {
    Error::new_spanned(field.field, "a struct with `#[flipped]` has ports only, no groups")
}
