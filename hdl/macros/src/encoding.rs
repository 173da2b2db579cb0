//! `#[derive(Encoding)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields, Result};

pub fn derive(input: DeriveInput) -> Result<TokenStream> {
    let (name, visibility) = (&input.ident, &input.vis);
    let Data::Enum(data) = &input.data else {
        return Err(Error::new_spanned(name, "`Encoding` is for enumerations"));
    };
    if let Some(variant) = data.variants.iter().find(|variant| !matches!(variant.fields, Fields::Unit)) {
        return Err(Error::new_spanned(variant, "a value with an encoding has no fields"));
    }
    if data.variants.is_empty() {
        return Err(Error::new_spanned(name, "an encoding is of one value at least"));
    }
    let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
    let count = variants.len();
    Ok(quote! {
        #[allow(dead_code)]
        impl #name {
            /// All values, each in the place of its code.
            #visibility const ALL: [#name; #count] = {
                let all = [#(#name::#variants),*];
                let mut place = 0;
                while place < #count {
                    ::std::assert!(all[place] as usize == place, "codes count from 0 up");
                    place += 1;
                }
                all
            };
            /// Bits of a code.
            #visibility const BITS: usize = ::warpfile_hdl::rtl::index_bits(#count);
            /// The code of each value, with its name.
            #visibility const CODES: &'static [(u64, &'static str)] =
                &[#((#name::#variants as u64, stringify!(#variants))),*];

            /// What stands for the value in hardware.
            #visibility const fn code(self) -> u64 {
                self as u64
            }

            /// The value that a code stands for; `None` if it stands for none.
            #visibility fn of_code(code: u64) -> ::std::option::Option<#name> {
                usize::try_from(code).ok().and_then(|place| #name::ALL.get(place).copied())
            }
        }

        impl ::warpfile_hdl::rtl::Literal for #name {
            fn to_bits(&self, width: u32) -> ::std::option::Option<::warpfile_hdl::rtl::Bits> {
                ::warpfile_hdl::rtl::Literal::to_bits(&self.code(), width)
            }
            fn text(&self) -> ::std::string::String {
                ::std::format!("{}::{:?}", stringify!(#name), self)
            }
        }
    })
}
