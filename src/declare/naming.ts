import { pluralize, underscore } from 'inflection';

/** `ProductCategory`, `product_category` and `product-category` all become `product-category`. */
export function resourceName(declared: string): string {
  return underscore(declared.trim().replaceAll(/[\s-]+/g, '_'))
    .replaceAll('_', '-')
    .toLowerCase();
}

/** Plural of the last word: `product-category` → `product-categories`. */
export function pluralName(name: string): string {
  const words = name.split('-');
  return [...words.slice(0, -1), pluralize(words.at(-1)!)].join('-');
}

/** `createdAt` → `created_at`, `product-categories` → `product_categories`. */
export function snakeCase(name: string): string {
  return underscore(name.replaceAll('-', '_'));
}
