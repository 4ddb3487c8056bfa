/**
 * A host was not called: it has no address, or one that must not be called. Both have the same code and the same message,
 * so that who may choose hosts cannot learn which private names exist. What it was stands in `cause`, for the log only.
 */
export class AddressRefusedError extends Error {
  override readonly name = 'AddressRefusedError';
  readonly code = 'ADDRESS_REFUSED';

  constructor(cause: unknown) {
    super('The host has no public address', { cause });
  }
}
