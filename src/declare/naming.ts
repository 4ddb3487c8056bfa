import { pluralize } from 'inflection';

/** `APIKey` → `api_key`, `createdAt` → `created_at`. */
function toUnderscores(name: string): string {
  return name
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

type Lower = 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j' | 'k' | 'l' | 'm' | LaterLower;
type LaterLower = 'n' | 'o' | 'p' | 'q' | 'r' | 's' | 't' | 'u' | 'v' | 'w' | 'x' | 'y' | 'z';
type Upper = Uppercase<Lower>;
type Digit = '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9';

/** Whether a word begins at the capital letter between `Before` and `Rest`. */
type BeginsWord<Before extends string, Rest extends string> = Before extends Lower | Digit
  ? true
  : Before extends Upper
    ? Rest extends `${Lower}${string}`
      ? true
      : false
    : false;

type Hyphenated<
  Name extends string,
  Before extends string,
  Result extends string,
> = Name extends `${infer C}${infer Rest}`
  ? C extends Lower | Digit
    ? Hyphenated<Rest, C, `${Result}${C}`>
    : C extends Upper
      ? Hyphenated<Rest, C, `${Result}${BeginsWord<Before, Rest> extends true ? '-' : ''}${Lowercase<C>}`>
      : C extends '-'
        ? Hyphenated<Rest, C, Before extends '-' ? Result : `${Result}-`>
        : C extends '_'
          ? Hyphenated<Rest, C, `${Result}-`>
          : string
  : Result;

/** The normalised name of a resource as a type; `string` if the name is unknown at compile time or has unusual characters. */
export type ResourceName<N extends string> = N extends string
  ? string extends N
    ? string
    : Hyphenated<N, '', ''>
  : never;

/** `ProductCategory`, `product_category` and `product-category` all become `product-category`. */
export function normalizeResourceName(declared: string): string {
  // A value that is not a string becomes a name that is refused at startup.
  return toUnderscores(
    String(declared)
      .trim()
      .replaceAll(/[\s-]+/g, '_'),
  ).replaceAll('_', '-');
}

/** Plural of the last word: `product-category` → `product-categories`. */
export function pluralName(name: string): string {
  const words = name.split('-');
  return [...words.slice(0, -1), pluralize(words.at(-1)!)].join('-');
}

/** `two-factor` → `twoFactor`. */
export function camelCase(name: string): string {
  return String(name).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** `createdAt` → `created_at`, `product-categories` → `product_categories`. */
export function snakeCase(name: string): string {
  return toUnderscores(name.replaceAll('-', '_'));
}

/** The words of a name, for people: `product-category` → `Product category`, `startsAt` → `Starts at`, `imageURL` → `Image URL`. */
export function toWords(name: string): string {
  const words = name
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1 $2')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .split(/[\s_-]+/)
    .filter((word) => word !== '');
  const text = words.map((word) => (/^[A-Z\d]{2,}$/.test(word) ? word : word.toLowerCase())).join(' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
