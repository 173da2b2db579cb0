//! `#[derive(Ports)]`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Fields, GenericArgument, GenericParam, Ident,
    PathArguments, Result, Type, parse_quote,
};

use crate::flipped;

pub fn derive(input: DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let fields = named_fields(&input)?.into_iter().map(PortField::new).collect::<Result<Vec<_>>>()?;
    let lifetime = match input.generics.params.iter().collect::<Vec<_>>()[..] {
        [GenericParam::Lifetime(l)] => l.lifetime.clone(),
        _ => return Err(Error::new_spanned(name, "a port struct has one lifetime parameter: `Io<'m>`")),
    };
    let params: Option<Type> = attribute(&input.attrs, "params")?;
    let (generics, params) = match params {
        Some(params) => (quote!(<#lifetime>), quote!(#params)),
        None => (quote!(<#lifetime, P>), quote!(P)),
    };
    let names: Vec<_> = fields.iter().map(|field| field.ident).collect();
    let (binds, resolves): (Vec<_>, Vec<_>) =
        fields.iter().map(|field| (field.value(Use::Bind), field.value(Use::Resolve))).unzip();
    let qualifiers = fields.iter().filter_map(PortField::qualifier);
    let passes = fields.iter().map(PortField::pass_through);
    let (visibility, handles) = (&input.vis, format_ident!("{name}Handles"));
    let handle_doc = format!("The ports of [`{name}`] as handles: `I` of an input, `O` of an output.");
    let handle_fields = fields.iter().map(PortField::handle);
    let flipped = flipped::of(&input, &fields)?;
    Ok(quote! {
        #[doc = #handle_doc]
        #[derive(Clone, Debug)]
        #[allow(dead_code)]
        #visibility struct #handles<I, O> {
            #(#handle_fields,)*
            /// A group may have inputs only, or outputs only.
            of: ::std::marker::PhantomData<(I, O)>,
        }

        impl<#lifetime> ::warpfile_hdl::rtl::Bundle<#lifetime> for #name<#lifetime> {
            type Handles<I, O> = #handles<I, O>;
            #[track_caller]
            fn pass_through(&self, m: &::warpfile_hdl::rtl::Module<#lifetime>, inner: &Self) {
                let _ = m;
                #(#passes)*
            }
        }

        impl #generics ::warpfile_hdl::rtl::Ports<#lifetime, #params> for #name<#lifetime> {
            fn bind(ports: &mut ::warpfile_hdl::rtl::PortBinder<#lifetime>, p: &#params) -> Self {
                let _ = p;
                let bound = Self { #(#names: #binds),* };
                #(#qualifiers)*
                bound
            }
            fn resolve<L: ::warpfile_hdl::rtl::PortLookup>(
                ports: &mut ::warpfile_hdl::rtl::PortResolver<'_, L>,
                p: &#params,
            ) -> ::std::result::Result<#handles<L::In, L::Out>, L::Error> {
                let _ = p;
                ::std::result::Result::Ok(#handles { #(#names: #resolves,)* of: ::std::marker::PhantomData })
            }
        }

        #flipped
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

/// A field: one port or group, or a list of them.
pub struct PortField<'a> {
    pub field: &'a Field,
    pub ident: &'a Ident,
    /// Of the field, or of an element of the list.
    pub element: &'a Type,
    pub kind: Kind,
    repeat: Option<Repeat>,
    /// An output that is meaningful only where this one is 1.
    valid_when: Option<Ident>,
}

pub enum Kind {
    Input { bits: Expr },
    Output { bits: Expr },
    Group { params: Expr, prefixed: bool },
}

/// How often, and from how many on the elements are numbered.
struct Repeat {
    count: Expr,
    numbered_from: usize,
}

/// What an expression for a field is for.
#[derive(Clone, Copy)]
enum Use {
    /// The ports while the circuit is described.
    Bind,
    /// Handles to the ports of a circuit that is there.
    Resolve,
}

impl<'a> PortField<'a> {
    fn new(field: &'a Field) -> Result<PortField<'a>> {
        let Some(ident) = &field.ident else { return Err(Error::new_spanned(field, "a port has a name")) };
        let repeat = repeat(field)?;
        let element = match (element_of_vec(&field.ty), &repeat) {
            (Some(element), Some(_)) => element,
            (None, None) => &field.ty,
            (Some(_), None) => {
                return Err(Error::new_spanned(field, "say how many elements: `#[repeat(expr)]`"));
            }
            (None, Some(_)) => return Err(Error::new_spanned(field, "`#[repeat]` is for `Vec<…>`")),
        };
        let kind = kind(field, element)?;
        let name = ident.to_string();
        if !name.ends_with(kind.suffix()) {
            let message = format!("the name of this port ends in `{}`", kind.suffix());
            return Err(Error::new_spanned(field, message));
        }
        let valid_when = attribute(&field.attrs, "valid_when")?;
        if valid_when.is_some() && !matches!(kind, Kind::Output { .. }) {
            return Err(Error::new_spanned(field, "`#[valid_when]` is for an output"));
        }
        Ok(PortField { field, ident, element, kind, repeat, valid_when })
    }

    /// The expression that makes the field.
    fn value(&self, purpose: Use) -> TokenStream {
        let (name, suffix) = (self.ident.to_string(), self.kind.suffix());
        let Some(Repeat { count, numbered_from }) = &self.repeat else {
            let value = self.element_value(purpose);
            return match purpose {
                Use::Bind => quote!({ let name = #name; #value }),
                Use::Resolve => quote!({ let name = #name; #value? }),
            };
        };
        let stem = name.strip_suffix(suffix).unwrap_or(&name);
        let value = self.element_value(purpose);
        let elements = quote! {
            (0..count)
                .map(|index| {
                    let number =
                        if count >= #numbered_from { index.to_string() } else { ::std::string::String::new() };
                    let name = &::std::format!("{}{}{}", #stem, number, #suffix);
                    #value
                })
        };
        match purpose {
            Use::Bind => quote!({ let count = ports.repeat(#name, #count); #elements.collect() }),
            Use::Resolve => quote! {{
                let count = #count;
                #elements.collect::<::std::result::Result<_, L::Error>>()?
            }},
        }
    }

    /// The expression that makes one port or group called `name`.
    fn element_value(&self, purpose: Use) -> TokenStream {
        let element = self.element;
        match (&self.kind, purpose) {
            (Kind::Input { bits }, Use::Bind) => quote!(ports.input(name, #bits)),
            (Kind::Output { bits }, Use::Bind) => quote!(ports.output(name, #bits)),
            (Kind::Input { .. }, Use::Resolve) => quote!(ports.input(name)),
            (Kind::Output { .. }, Use::Resolve) => quote!(ports.output(name)),
            (Kind::Group { params, prefixed }, purpose) => {
                let made = match purpose {
                    Use::Bind => quote!(<#element as ::warpfile_hdl::rtl::Ports<_>>::bind(ports, #params)),
                    Use::Resolve => {
                        quote!(<#element as ::warpfile_hdl::rtl::Ports<_>>::resolve(ports, #params))
                    }
                };
                if *prefixed { quote!(ports.group(name, |ports| #made)) } else { made }
            }
        }
    }

    /// The statement that says when the outputs of the field are meaningful, if they are not always.
    fn qualifier(&self) -> Option<TokenStream> {
        let (ident, condition) = (self.ident, self.valid_when.as_ref()?);
        Some(match self.repeat {
            Some(_) => quote!(for &output in &bound.#ident { ports.valid_when(output, bound.#condition); }),
            None => quote!(ports.valid_when(bound.#ident, bound.#condition);),
        })
    }

    /// The statement that gives an inner circuit's ports to the circuit around it.
    fn pass_through(&self) -> TokenStream {
        let ident = self.ident;
        let one = match self.kind {
            Kind::Input { .. } => quote!(inner.set(*outer);),
            Kind::Output { .. } => quote!(outer.set(*inner);),
            Kind::Group { .. } => {
                return quote!(::warpfile_hdl::rtl::Bundle::pass_through(&self.#ident, m, &inner.#ident););
            }
        };
        match self.repeat {
            Some(_) => quote! {
                m.same_length(self.#ident.len(), inner.#ident.len());
                for (outer, inner) in self.#ident.iter().zip(&inner.#ident) { #one }
            },
            None => quote!({ let (outer, inner) = (&self.#ident, &inner.#ident); #one }),
        }
    }

    /// Whether it is a list.
    pub fn is_repeated(&self) -> bool {
        self.repeat.is_some()
    }

    /// The field of the struct of handles.
    fn handle(&self) -> TokenStream {
        let (ident, visibility) = (self.ident, &self.field.vis);
        let docs = self.field.attrs.iter().filter(|a| a.path().is_ident("doc"));
        let one = match self.kind {
            Kind::Input { .. } => quote!(I),
            Kind::Output { .. } => quote!(O),
            Kind::Group { .. } => {
                let group = static_lifetimes(self.element);
                quote!(<#group as ::warpfile_hdl::rtl::Bundle<'static>>::Handles<I, O>)
            }
        };
        match self.repeat {
            Some(_) => quote!(#(#docs)* #visibility #ident: ::std::vec::Vec<#one>),
            None => quote!(#(#docs)* #visibility #ident: #one),
        }
    }
}

impl Kind {
    /// The end of the field's name, which the number of a repeated port goes before.
    fn suffix(&self) -> &'static str {
        match self {
            Kind::Input { .. } => "_i",
            Kind::Output { .. } => "_o",
            Kind::Group { .. } => "",
        }
    }
}

fn repeat(field: &Field) -> Result<Option<Repeat>> {
    let repeat: Option<Expr> = attribute(&field.attrs, "repeat")?;
    let repeat_plain: Option<Expr> = attribute(&field.attrs, "repeat_plain")?;
    match (repeat, repeat_plain) {
        (Some(_), Some(_)) => Err(Error::new_spanned(field, "either `#[repeat]` or `#[repeat_plain]`")),
        (Some(count), None) => Ok(Some(Repeat { count, numbered_from: 0 })),
        (None, plain) => Ok(plain.map(|count| Repeat { count, numbered_from: 2 })),
    }
}

fn kind(field: &Field, element: &Type) -> Result<Kind> {
    let bits: Option<Expr> = attribute(&field.attrs, "bits")?;
    let with: Option<Expr> = attribute(&field.attrs, "with")?;
    let flat = field.attrs.iter().any(|attribute| attribute.path().is_ident("flatten"));
    if flat && element_of_vec(&field.ty).is_some() {
        return Err(Error::new_spanned(field, "`#[flatten]` is for a single group"));
    }
    let direction = last_segment(element);
    match (direction.as_deref(), bits, with) {
        (Some("In" | "Out"), _, Some(_)) => {
            Err(Error::new_spanned(field, "`#[with]` is for a group; this is a port"))
        }
        (Some("In" | "Out"), _, None) if flat => {
            Err(Error::new_spanned(field, "`#[flatten]` is for a single group"))
        }
        (Some("In"), bits, None) => Ok(Kind::Input { bits: bits.unwrap_or_else(|| parse_quote!(1)) }),
        (Some("Out"), bits, None) => Ok(Kind::Output { bits: bits.unwrap_or_else(|| parse_quote!(1)) }),
        (_, Some(_), _) => Err(Error::new_spanned(field, "`#[bits]` is for a port; this is a group")),
        (_, None, with) => Ok(Kind::Group {
            params: with.map_or_else(|| parse_quote!(p), |with| parse_quote!(&(#with))),
            prefixed: !flat,
        }),
    }
}

/// `Request<'static>` for `Request<'m>`: a struct of handles belongs to no module.
fn static_lifetimes(ty: &Type) -> Type {
    let mut ty = ty.clone();
    if let Type::Path(path) = &mut ty {
        for segment in &mut path.path.segments {
            if let PathArguments::AngleBracketed(arguments) = &mut segment.arguments {
                for argument in &mut arguments.args {
                    if let GenericArgument::Lifetime(lifetime) = argument {
                        *lifetime = parse_quote!('static);
                    }
                }
            }
        }
    }
    ty
}

/// The argument of `#[name(argument)]`, if the attribute is there.
pub fn attribute<T: syn::parse::Parse>(attributes: &[Attribute], name: &str) -> Result<Option<T>> {
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
