/** A field in a title, with the texts around its value. */
interface TitlePart {
  field: string;
  /** Follows the values before it, if there are any. */
  separator: string;
  /** Shown only with the value: an opening bracket, or `No. `. */
  prefix: string;
  /** Shown only with the value: a closing bracket, or ` km`. */
  suffix: string;
}

/** How the values of a record become the text that names it for people. */
export type Title = readonly TitlePart[];

const FIELD = /\{([^{}]*)\}/;
/** The end of the text between two fields that belongs to the second: from an opening bracket on, or signs directly before the value. */
const PREFIX = /(?:[([].*|[“‘„«"#$€£@]+)$/s;
/** The start of the text between two fields that belongs to the first: up to a closing bracket, or signs directly after the value. */
const SUFFIX = /^(?:[^([]*[)\]]|[”’»"%]+)/;

/** Whether the option `title` of a resource is a template such as `{firstName} {lastName}`, and not the name of a field. */
export const isTitleTemplate = (title: string): boolean => /[{}]/.test(title);

/**
 * Reads the option `title` of a resource: the name of a field, or a template that names fields in braces.
 *
 * @param title an option without configuration errors
 */
export function parseTitle(title: string): Title {
  if (!isTitleTemplate(title)) return [{ field: title, separator: '', prefix: '', suffix: '' }];
  const pieces = title.split(FIELD);
  const fields = pieces.filter((_, index) => index % 2 === 1);
  const texts = pieces.filter((_, index) => index % 2 === 0);
  const between = texts.slice(1, -1).map((text) => {
    const [suffix = ''] = SUFFIX.exec(text) ?? [];
    const [prefix = ''] = PREFIX.exec(text.slice(suffix.length)) ?? [];
    return { suffix, separator: text.slice(suffix.length, text.length - prefix.length), prefix };
  });
  return fields.map((field, index) => ({
    field,
    separator: between[index - 1]?.separator ?? '',
    prefix: index === 0 ? texts[0]! : between[index - 1]!.prefix,
    suffix: index === fields.length - 1 ? texts.at(-1)! : between[index]!.suffix,
  }));
}

function toText(value: unknown): string {
  return typeof value === 'string' ? value.trim() : Number.isFinite(value) ? String(value) : '';
}

/**
 * Names a record for people. Fields without a value are left out, and so are the separators and brackets around them.
 *
 * @param values the values that the reader may see, by field
 * @returns undefined if none of the fields has a value
 */
export function formatTitle(title: Title, values: Readonly<Record<string, unknown>>): string | undefined {
  let text = '';
  for (const { field, separator, prefix, suffix } of title) {
    // Stored records have the values of restricted fields only by name, not as their own keys.
    const value = toText(values[field]);
    if (value !== '') text += (text === '' ? '' : separator) + prefix + value + suffix;
  }
  return text.trim() || undefined;
}
