/** The signed-in user as policies see them: their stored record. */
export interface Viewer {
  id: string;
  roles?: readonly string[];
  [field: string]: unknown;
}

/** Whether an account may be used: it is neither disabled nor being erased. Without a field `status` every account may. */
export function isActive({ status }: Readonly<Record<string, unknown>>): boolean {
  return status === undefined || status === 'active';
}
