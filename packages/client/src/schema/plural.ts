/** Words that have no plural, as the package `inflection` lists them. */
type Uncountable =
  | ('accommodation' | 'adulthood' | 'advertising' | 'advice' | 'aggression' | 'aid' | 'air' | 'aircraft')
  | ('alcohol' | 'anger' | 'applause' | 'arithmetic' | 'assistance' | 'athletics' | 'bacon' | 'baggage')
  | ('beef' | 'biology' | 'blood' | 'botany' | 'bread' | 'butter' | 'carbon' | 'cardboard' | 'cash' | 'chalk')
  | ('chaos' | 'chess' | 'crossroads' | 'countryside' | 'dancing' | 'deer' | 'dignity' | 'dirt' | 'dust')
  | ('economics' | 'education' | 'electricity' | 'engineering' | 'enjoyment' | 'envy' | 'equipment' | 'ethics')
  | ('evidence' | 'evolution' | 'fame' | 'fiction' | 'flour' | 'flu' | 'food' | 'fuel' | 'fun' | 'furniture')
  | ('gallows' | 'garbage' | 'garlic' | 'genetics' | 'gold' | 'golf' | 'gossip' | 'gratitude' | 'grief')
  | ('guilt' | 'gymnastics' | 'happiness' | 'hardware' | 'harm' | 'hate' | 'hatred' | 'health' | 'heat')
  | ('help' | 'homework' | 'honesty' | 'honey' | 'hospitality' | 'housework' | 'humour' | 'hunger')
  | ('hydrogen' | 'ice' | 'importance' | 'inflation' | 'information' | 'innocence' | 'iron' | 'irony' | 'jam')
  | ('jewelry' | 'judo' | 'karate' | 'knowledge' | 'lack' | 'laughter' | 'lava' | 'leather' | 'leisure')
  | ('lightning' | 'linguine' | 'linguini' | 'linguistics' | 'literature' | 'litter' | 'livestock' | 'logic')
  | ('loneliness' | 'luck' | 'luggage' | 'macaroni' | 'machinery' | 'magic' | 'management' | 'mankind')
  | ('marble' | 'mathematics' | 'mayonnaise' | 'measles' | 'methane' | 'milk' | 'minus' | 'money' | 'mud')
  | ('music' | 'mumps' | 'nature' | 'news' | 'nitrogen' | 'nonsense' | 'nurture' | 'nutrition' | 'obedience')
  | ('obesity' | 'oxygen' | 'pasta' | 'patience' | 'physics' | 'poetry' | 'pollution' | 'poverty' | 'pride')
  | ('psychology' | 'publicity' | 'punctuation' | 'quartz' | 'racism' | 'relaxation' | 'reliability')
  | ('research' | 'respect' | 'revenge' | 'rice' | 'rubbish' | 'rum' | 'safety' | 'scenery' | 'seafood')
  | ('seaside' | 'series' | 'shame' | 'sheep' | 'shopping' | 'sleep' | 'smoke' | 'smoking' | 'snow' | 'soap')
  | ('software' | 'soil' | 'spaghetti' | 'species' | 'steam' | 'stuff' | 'stupidity' | 'sunshine' | 'symmetry')
  | ('tennis' | 'thirst' | 'thunder' | 'timber' | 'traffic' | 'transportation' | 'trust' | 'underwear')
  | ('unemployment' | 'unity' | 'validity' | 'veal' | 'vegetation' | 'vegetarianism' | 'vengeance')
  | ('violence' | 'vitality' | 'warmth' | 'wealth' | 'weather' | 'welfare' | 'wheat' | 'wildlife' | 'wisdom')
  | ('yoga' | 'zinc' | 'zoology');

/** Words that are plurals already, by their whole text or by their end. */
type PluralWord =
  | ('men' | 'women' | 'feet' | 'teeth' | 'geese' | 'whereases' | 'criteria' | 'genera' | 'summonses' | 'bonuses')
  | `${string}${'people' | 'children' | 'databases' | 'drives' | 'curves' | 'buses' | 'quizzes' | 'mice' | 'lice'}`
  | `${string}${'t' | 'i'}a`
  | `${string}${'analy' | 'ba' | 'diagno' | 'parenthe' | 'progno' | 'synop' | 'the'}ses`
  | `${string}${'x' | 'ch' | 'ss' | 'sh' | 'o' | 'cris' | 'test' | 'alias' | 'canvas' | 'status' | 'campus'}es`
  | `${string}${'matr' | 'vert' | 'ind'}ices`
  | `${string}${'octop' | 'vir'}uses`
  | `oxen${string}`;

type Vowel = 'a' | 'e' | 'i' | 'o' | 'u' | 'y';

/** Whether a word is a plural already. The last two rules need a letter before `ves` and `ies`. */
type IsPlural<W extends string> = W extends PluralWord | `${string}quies`
  ? true
  : W extends `${infer Before}ves`
    ? Before extends '' | `${string}${'f' | 'o'}`
      ? false
      : true
    : W extends `${infer Before}ies`
      ? Before extends '' | `${string}${Vowel}`
        ? false
        : true
      : false;

/** Singulars whose plural adds `es`. */
type AddsEs =
  | ('summons' | 'bonus' | 'focus' | 'whereas')
  | `${string}${'octopus' | 'virus' | 'alias' | 'status' | 'canvas' | 'campus' | 'bus' | 'buffalo' | 'tomato' | 'potato'}`;

/** Irregular plurals of whole words. */
interface Irregular {
  man: 'men';
  woman: 'women';
  ox: 'oxen';
  foot: 'feet';
  tooth: 'teeth';
  goose: 'geese';
  criterion: 'criteria';
  genus: 'genera';
}

/** The plural of words with an end that changes, in the order of the package's rules. */
type Inflected<W extends string> = W extends `${infer Stem}person`
  ? `${Stem}people`
  : W extends `${string}child`
    ? `${W}ren`
    : W extends `${infer Stem}${'axis' | 'testis'}`
      ? W extends `${Stem}axis`
        ? `${Stem}axes`
        : `${Stem}testes`
      : W extends AddsEs
        ? `${W}es`
        : W extends `${infer Stem}tum`
          ? `${Stem}ta`
          : W extends `${infer Stem}ium`
            ? `${Stem}ia`
            : W extends `${infer Stem}sis`
              ? `${Stem}ses`
              : InflectedF<W>;

type InflectedF<W extends string> = W extends `${infer Stem}fe`
  ? Stem extends '' | `${string}f`
    ? RegularPlural<W>
    : `${Stem}ves`
  : W extends `${infer Stem}f`
    ? Stem extends `${string}${'l' | 'r'}`
      ? `${Stem}ves`
      : RegularPlural<W>
    : InflectedY<W>;

type InflectedY<W extends string> = W extends `${infer Stem}y`
  ? Stem extends `${string}qu`
    ? `${Stem}ies`
    : Stem extends '' | `${string}${Vowel}`
      ? RegularPlural<W>
      : `${Stem}ies`
  : W extends `${infer Stem}matrix`
    ? `${Stem}matrices`
    : W extends `${infer Stem}${'vert' | 'ind'}ex`
      ? W extends `${Stem}vertex`
        ? `${Stem}vertices`
        : `${Stem}indices`
      : RegularPlural<W>;

type RegularPlural<W extends string> = W extends `${string}${'x' | 'ch' | 'ss' | 'sh'}`
  ? `${W}es`
  : W extends `${infer Stem}${'m' | 'l'}ouse`
    ? W extends `${Stem}mouse`
      ? `${Stem}mice`
      : `${Stem}lice`
    : W extends `${string}quiz`
      ? `${W}zes`
      : W extends `${string}s`
        ? W
        : `${W}s`;

type PluralOfWord<W extends string> = W extends Uncountable
  ? W
  : IsPlural<W> extends true
    ? W
    : W extends keyof Irregular
      ? Irregular[W]
      : Inflected<W>;

/** The plural of a resource name, as `pluralName` (src/declare/naming.ts) derives it: `product-category` → `product-categories`. */
export type PluralName<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? `${Word}-${PluralName<Rest>}`
  : PluralOfWord<Name>;

type Letter =
  | ('a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j' | 'k' | 'l' | 'm')
  | ('n' | 'o' | 'p' | 'q' | 'r' | 's' | 't' | 'u' | 'v' | 'w' | 'x' | 'y' | 'z');

type CamelCase<Name extends string> = Name extends `${infer Word}-${infer Rest}`
  ? Rest extends `${Letter}${string}`
    ? `${Word}${Capitalize<CamelCase<Rest>>}`
    : `${Word}-${CamelCase<Rest>}`
  : Name;

/**
 * The key of a resource in a client, by its path without the first slash: `blog-posts` → `blogPosts`. A path that cannot be derived from such
 * a key is the key itself: `shop/articles`; one with a capital letter begins with its slash.
 */
export type KeyOfPath<Path extends string> = Path extends `${string}/${string}`
  ? Path
  : Lowercase<Path> extends Path
    ? CamelCase<Path> extends `${string}-${string}`
      ? Path
      : CamelCase<Path>
    : `/${Path}`;
