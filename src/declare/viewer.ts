/** The signed-in user as policies see them: their stored record. */
export interface Viewer {
  id: string;
  roles?: readonly string[];
  [field: string]: unknown;
}
