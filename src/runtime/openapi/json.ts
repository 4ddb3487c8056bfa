/** A part of the document: plain JSON. */
export type Json = Record<string, unknown>;
