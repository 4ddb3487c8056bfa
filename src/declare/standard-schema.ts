/** A library's schema by the Standard Schema convention (https://standardschema.dev): zod, valibot, arktype and others. */
export interface StandardSchema<Output = unknown, Input = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** A validation error: its message and its path in the value. */
export interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The path of an issue, as a list of keys. */
export function issuePath({ path }: StandardIssue): string[] {
  // Not with map(): a library's path may be a subclass of Array whose map() returns that subclass.
  return Array.from(path ?? [], (part) => String(typeof part === 'object' ? part.key : part));
}
