//! `#[derive(Ports)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Fields, GenericArgument, GenericParam, PathArguments,
    Result, Type,
};

pub fn derive(input: DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = named_fields(&input)?;
    let lifetime = match input.generics.params.iter().collect::<Vec<_>>()[..] {
        [GenericParam::Lifetime(l)] => l.lifetime.clone(),
        _ => return Err(Error::new_spanned(name, "a port struct has one lifetime parameter: `Io<'m>`")),
    };
    let params: Option<Type> = attribute(&input.attrs, "params")?;
    let values = fields.iter().map(|field| bind_field(field)).collect::<Result<Vec<_>>>()?;
    let names = fields.iter().map(|field| &field.ident);
    let (generics, params) = match params {
        Some(params) => (quote!(<#lifetime>), quote!(#params)),
        None => (quote!(<#lifetime, P>), quote!(P)),
    };
    Ok(quote! {
        impl #generics ::warpfile_hdl::rtl::Ports<#lifetime, #params> for #name<#lifetime> {
            fn bind(ports: &mut ::warpfile_hdl::rtl::PortBinder<#lifetime>, p: &#params) -> Self {
                let _ = p;
                Self { #(#names: #values),* }
            }
        }
    })
}

fn named_fields(input: &DeriveInput) -> Result<Vec<&Field>> {
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(named) => Ok(named.named.iter().collect()),
            Fields::Unnamed(_) | Fields::Unit => {
                Err(Error::new_spanned(&input.ident, "a port struct has fields with names"))
            }
        },
        Data::Enum(_) | Data::Union(_) => Err(Error::new_spanned(&input.ident, "ports are a struct")),
    }
}

/// The expression that makes one field.
fn bind_field(field: &Field) -> Result<TokenStream> {
    let Some(ident) = &field.ident else { return Err(Error::new_spanned(field, "a port has a name")) };
    let name = ident.to_string();
    let repeat: Option<Expr> = attribute(&field.attrs, "repeat")?;
    let repeat_plain: Option<Expr> = attribute(&field.attrs, "repeat_plain")?;
    // The number of elements, and from how many on they are numbered.
    let count = match (repeat, repeat_plain) {
        (Some(_), Some(_)) => {
            return Err(Error::new_spanned(field, "either `#[repeat]` or `#[repeat_plain]`"));
        }
        (Some(count), None) => Some((count, 0usize)),
        (None, plain) => plain.map(|count| (count, 2)),
    };
    let (element, base) = match (element_of_vec(&field.ty), &count) {
        (Some(element), Some(_)) => (element, format_ident!("element_name")),
        (None, None) => (&field.ty, format_ident!("name")),
        (Some(_), None) => {
            return Err(Error::new_spanned(field, "say how many elements: `#[repeat(expr)]`"));
        }
        (None, Some(_)) => return Err(Error::new_spanned(field, "`#[repeat]` is for `Vec<…>`")),
    };
    let (value, suffix) = bind_element(field, &name, element, &base)?;
    let stem = name.strip_suffix(suffix).unwrap_or(&name);
    Ok(match count {
        None => quote!({ let name = #name; #value }),
        Some((count, numbered_from)) => quote! {{
            let count = ports.repeat(#name, #count);
            (0..count)
                .map(|index| {
                    let number = if count >= #numbered_from { index.to_string() } else { ::std::string::String::new() };
                    let element_name = &::std::format!("{}{}{}", #stem, number, #suffix);
                    #value
                })
                .collect()
        }},
    })
}

/// The expression that makes one port or group called `base`, and the suffix that its number goes before.
fn bind_element(
    field: &Field,
    name: &str,
    element: &Type,
    base: &proc_macro2::Ident,
) -> Result<(TokenStream, &'static str)> {
    let bits: Option<Expr> = attribute(&field.attrs, "bits")?;
    let with: Option<Expr> = attribute(&field.attrs, "with")?;
    let kind = last_segment(element);
    let (method, suffix) = match kind.as_deref() {
        Some("In") => (format_ident!("input"), "_i"),
        Some("Out") => (format_ident!("output"), "_o"),
        _ => {
            if bits.is_some() {
                return Err(Error::new_spanned(field, "`#[bits]` is for a port; this is a group"));
            }
            let params = with.map_or_else(|| quote!(p), |with| quote!(&(#with)));
            let group = quote! {
                ports.group(#base, |ports| ::warpfile_hdl::rtl::Ports::bind(ports, #params))
            };
            return Ok((group, ""));
        }
    };
    if !name.ends_with(suffix) {
        return Err(Error::new_spanned(field, format!("the name of this port ends in `{suffix}`")));
    }
    if with.is_some() {
        return Err(Error::new_spanned(field, "`#[with]` is for a group; this is a port"));
    }
    let bits = bits.map_or_else(|| quote!(1), |bits| quote!(#bits));
    Ok((quote!(ports.#method(#base, #bits)), suffix))
}

/// The argument of `#[name(argument)]`, if the attribute is there.
fn attribute<T: syn::parse::Parse>(attributes: &[Attribute], name: &str) -> Result<Option<T>> {
    attributes.iter().find(|a| a.path().is_ident(name)).map(Attribute::parse_args).transpose()
}

fn last_segment(ty: &Type) -> Option<String> {
    match ty {
        Type::Path(path) => path.path.segments.last().map(|s| s.ident.to_string()),
        _ => None,
    }
}

fn element_of_vec(ty: &Type) -> Option<&Type> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last().filter(|s| s.ident == "Vec")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    arguments.args.iter().find_map(|a| match a {
        GenericArgument::Type(element) => Some(element),
        _ => None,
    })
}
