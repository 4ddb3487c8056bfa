// The modules of the reference and of the map that need no browser, with the parts of their types that tests use.

/** A document, a schema or a value of JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into the document freely
export type Json = Record<string, any>;

/** An operation of the reference. */
export interface Operation {
  id: string;
  method: string;
  path: string;
  tag: string;
  parameters: Json[];
  body?: Json;
  raw: Json;
}

/** What the form of an operation holds. */
export interface Values {
  path: Record<string, string>;
  query: Record<string, string>;
  header: Record<string, string>;
  type: string | undefined;
  json: string;
  form: Record<string, unknown>;
  /** Further headers, one per line. */
  other: string;
}

/** A request that a form describes. */
export interface FormRequest {
  method: string;
  path: string;
  headers: [string, string][];
  json?: string;
  form?: [string, unknown][];
}

interface Box {
  id: string;
  width: number;
  height: number;
}
/** A box with its position. */
export type PlacedBox = Box & { x: number; y: number; layer: number };

const folder = new URL('../../../../packages/pages/src/', import.meta.url);
const load = async <T>(name: string) => (await import(new URL(name, folder).href)) as T;

export const documents = await load<{
  listOperations(document: Json): Operation[];
  matchesSearch(operation: Operation, text: string): boolean;
  groupOperations(operations: Operation[], resources: string[]): { tag: string; operations: Operation[] }[];
}>('reference/operations.ts');
export const examples = await load<{
  exampleOf(schema: Json, document: Json, direction: 'input' | 'output', options?: { onlyRequired?: boolean }): unknown;
}>('reference/example.ts');
export const requests = await load<{
  initialValues(operation: Operation, document: Json): Values;
  buildRequest(operation: Operation, values: Values): FormRequest;
  checkValues(operation: Operation, values: Values): Record<string, string>;
}>('reference/runner/request.ts');
export const members = await load<{ readMember(member: Json, text: string): unknown }>('reference/runner/members.ts');
export const secrets = await load<{
  valuesForHistory(values: Values, secretMembers?: string[]): Values;
  secretMembersOf(schema: Json, document: Json): string[];
}>('reference/runner/secrets.ts');
export const samples = await load<{
  curlSample(operation: Operation, request: FormRequest, origin: string): string;
  fetchSample(operation: Operation, request: FormRequest, origin: string): string;
}>('reference/runner/samples.ts');
export const clientSamples = await load<{
  clientSample(operation: Operation, request: FormRequest, values: Values, document: Json): string;
}>('reference/runner/client-sample.ts');
export const policies = await load<{
  policyInWords(text: string, action?: string): string;
  rateText(rule: { limit: number; windowMs: number }): string;
}>('reference/policy.ts');
export const access = await load<{
  accessOf(rule: Json | undefined, viewer: string, action?: string): string;
  accessInWords(resources: { access: Json }[], viewer: string): string;
}>('tabs/reference/map/access.ts');
export const layouts = await load<{
  layOut(boxes: Box[], edges: { from: string; to: string }[]): { boxes: PlacedBox[]; width: number; height: number };
  edgePath(from: PlacedBox, to: PlacedBox, shift?: number): string;
}>('tabs/reference/map/layout.ts');
export const views = await load<{
  fitView(area: Json, frame: Json): { x: number; y: number; scale: number };
  zoomView(view: Json, factor: number, point: Json): { x: number; y: number; scale: number };
}>('tabs/reference/map/view.ts');
