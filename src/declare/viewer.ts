/** The signed-in user as policies see him: his stored record. */
export interface Viewer {
  id: string;
  roles?: readonly string[];
  [field: string]: unknown;
}
