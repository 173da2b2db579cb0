//! `#[derive(Documented)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Fields, Lit, Meta, Result};

pub fn derive(input: DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let doc = doc_text(&input.attrs);
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(name, "`Documented` is for structs of parameters"));
    };
    let fields: Vec<_> = match &data.fields {
        Fields::Named(named) => named.named.iter().collect(),
        Fields::Unit => Vec::new(),
        Fields::Unnamed(_) => {
            return Err(Error::new_spanned(name, "`Documented` needs fields with names"));
        }
    };
    let names = fields.iter().filter_map(|f| f.ident.as_ref()).map(|i| i.to_string());
    let docs = fields.iter().map(|f| doc_text(&f.attrs));
    Ok(quote! {
        impl ::warpfile_hdl::rtl::Documented for #name {
            const DOC: &'static str = #doc;
            const PARAMETERS: &'static [(&'static str, &'static str)] = &[#((#names, #docs)),*];
        }
    })
}

/// The lines of a doc comment, without the space that follows `///`.
fn doc_text(attributes: &[Attribute]) -> String {
    let lines: Vec<String> = attributes.iter().filter_map(doc_line).collect();
    lines.join("\n").trim().to_string()
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &pair.value else { return None };
    let text = text.value();
    pair.path.is_ident("doc").then(|| text.strip_prefix(' ').unwrap_or(&text).trim_end().to_string())
}
