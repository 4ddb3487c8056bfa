import { pluralize } from 'inflection';

/** `APIKey` → `api_key`, `createdAt` → `created_at`. */
function underscored(name: string): string {
  return name
    .replaceAll(/([A-Z]+)([A-Z][a-z])/g, '$1_$2')
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase();
}

/** `ProductCategory`, `product_category` and `product-category` all become `product-category`. */
export function resourceName(declared: string): string {
  // What is no text becomes a name that the start refuses.
  return underscored(
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

/** `createdAt` → `created_at`, `product-categories` → `product_categories`. */
export function snakeCase(name: string): string {
  return underscored(name.replaceAll('-', '_'));
}
