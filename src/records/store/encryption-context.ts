/** What an encrypted value is bound to, so that a ciphertext copied elsewhere does not decrypt there. */
export function valueContext(resource: string, field: string, id: string): string {
  return `${resource}/${field}/${id}`;
}
