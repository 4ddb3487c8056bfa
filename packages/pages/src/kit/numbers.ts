import { locale } from './language.ts';

const format = new Intl.NumberFormat(locale);

/** A number in the format of the page's language. */
export const numberText = (value: number): string => format.format(value);
