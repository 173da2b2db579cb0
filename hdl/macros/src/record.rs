//! `#[derive(Record)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Data, DeriveInput, Error, Expr, Field, Fields, GenericParam, Ident, Result, Type, TypeArray, parse_quote,
};

use crate::ports::attribute;

pub fn derive(input: DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let value = match input.generics.params.iter().collect::<Vec<_>>()[..] {
        [GenericParam::Type(parameter)] => &parameter.ident,
        _ => return Err(Error::new_spanned(name, "a record has one type parameter: `Line<T = Field>`")),
    };
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(name, "a record is a struct"));
    };
    let Fields::Named(named) = &data.fields else {
        return Err(Error::new_spanned(name, "a record has fields with names"));
    };
    let fields =
        named.named.iter().map(|field| RecordField::new(field, value)).collect::<Result<Vec<_>>>()?;
    let params: Type = attribute(&input.attrs, "params")?.unwrap_or_else(|| parse_quote!(()));
    let (shapes, makes, lists) = (
        fields.iter().map(RecordField::shape),
        fields.iter().map(RecordField::make),
        fields.iter().map(RecordField::list),
    );
    Ok(quote! {
        impl ::warpfile_hdl::rtl::Record for #name<::warpfile_hdl::rtl::Field> {
            type Params = #params;
            type With<#value: ::std::marker::Copy> = #name<#value>;

            fn fields(p: &#params) -> ::std::vec::Vec<::warpfile_hdl::rtl::FieldShape> {
                let _ = p;
                let mut fields = ::std::vec::Vec::new();
                #(#shapes)*
                fields
            }

            fn make<#value: ::std::marker::Copy>(mut of: impl ::std::ops::FnMut() -> #value) -> #name<#value> {
                #name { #(#makes),* }
            }

            fn list<#value: ::std::marker::Copy>(record: &#name<#value>) -> ::std::vec::Vec<#value> {
                let mut list = ::std::vec::Vec::new();
                #(#lists)*
                list
            }
        }
    })
}

/// A field, or an array of fields that are numbered.
struct RecordField<'a> {
    ident: &'a Ident,
    /// Elements of the array.
    count: Option<&'a Expr>,
    bits: Expr,
    lanes: Option<Expr>,
    lanes_per_array: Expr,
}

impl<'a> RecordField<'a> {
    fn new(field: &'a Field, value: &Ident) -> Result<RecordField<'a>> {
        let Some(ident) = &field.ident else { return Err(Error::new_spanned(field, "a field has a name")) };
        let (element, count) = match &field.ty {
            Type::Array(TypeArray { elem, len, .. }) => (&**elem, Some(len)),
            other => (other, None),
        };
        if !matches!(element, Type::Path(path) if path.path.is_ident(value)) {
            let message = format!("a field of a record is `{value}` or an array of `{value}`");
            return Err(Error::new_spanned(&field.ty, message));
        }
        let lanes: Option<Expr> = attribute(&field.attrs, "lanes")?;
        let lanes_per_array: Option<Expr> = attribute(&field.attrs, "lanes_per_array")?;
        if lanes.is_none() && lanes_per_array.is_some() {
            return Err(Error::new_spanned(field, "`#[lanes_per_array]` is for a field with `#[lanes]`"));
        }
        Ok(RecordField {
            ident,
            count,
            bits: attribute(&field.attrs, "bits")?.unwrap_or_else(|| parse_quote!(1)),
            lanes,
            lanes_per_array: lanes_per_array.unwrap_or_else(|| parse_quote!(1)),
        })
    }

    /// The statement that declares it.
    fn shape(&self) -> TokenStream {
        let RecordField { bits, lanes_per_array, .. } = self;
        let name = self.ident.to_string();
        let lanes = match &self.lanes {
            Some(lanes) => quote!(::std::option::Option::Some(#lanes)),
            None => quote!(::std::option::Option::None),
        };
        let push = |name: TokenStream| {
            quote! {
                fields.push(::warpfile_hdl::rtl::FieldShape {
                    name: #name,
                    bits: #bits,
                    lanes: #lanes,
                    lanes_per_array: #lanes_per_array,
                });
            }
        };
        match self.count {
            None => push(quote!(::std::string::String::from(#name))),
            Some(count) => {
                let push = push(quote!(::std::format!("{}{}", #name, index)));
                quote!(for index in 0..#count { #push })
            }
        }
    }

    fn make(&self) -> TokenStream {
        let ident = self.ident;
        match self.count {
            None => quote!(#ident: of()),
            Some(_) => quote!(#ident: ::std::array::from_fn(|_| of())),
        }
    }

    fn list(&self) -> TokenStream {
        let ident = self.ident;
        match self.count {
            None => quote!(list.push(record.#ident);),
            Some(_) => quote!(list.extend_from_slice(&record.#ident);),
        }
    }
}
