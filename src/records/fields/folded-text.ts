/** Texts that read alike in one form: case and width of letters and the way in which accents are written do not count. */
export function folded(text: string): string {
  // By way of the capitals, as ß and SS are one.
  return text.normalize('NFKC').toUpperCase().toLowerCase().normalize('NFKC');
}
