import type { IncomingMessage } from 'node:http';
import type { AuthorizationRequest, Route } from '../declare/route.ts';
import { validationError } from '../platform/helpers/errors.ts';
import { type FormFile, type FormLimits, readForm } from '../platform/http/bodies/multipart.ts';
import { createPerRequestStore } from '../platform/http/per-request.ts';
import { fieldTypeOf } from '../records/fields/field-type.ts';
import type { CompiledField, CompiledResource } from '../records/schema/compiled.ts';
import type { RecordFiles } from '../records/writes/files.ts';
import type { FilesContext } from './uploads/context.ts';
import type { UploadTarget } from './uploads/targets.ts';
import { identifyUploader } from './uploads/uploader.ts';

/** Maximum number of files in one form, if the limit of pending uploads allows as many. */
const MAX_FILES = 100;
const PART_OVERHEAD_BYTES = 1024;

/** A file that came with a form, for the field and for the fingerprint of the request. */
interface ReceivedFormFile {
  field: string;
  value: { id: string; token: string | undefined };
  fingerprint: unknown;
}

/** Parses JSON; the text itself if it is not JSON, which validation then reports. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Converts the text of a form field to the JSON value that the field type expects. An empty text clears a field that is not a text. */
function parseFormValue({ spec, holdsFiles }: CompiledField, text: string): unknown {
  const { jsonType } = fieldTypeOf(spec);
  if (jsonType === 'string') return text;
  if (text === '' || text === 'null') return null;
  // The id of an upload needs no quotes.
  return holdsFiles && !/^[[{"]/.test(text) ? text : parseJson(text);
}

/** Combines the values of the parts of one field: a list if the field is a list or if the field was sent more than once. */
function combineValues(field: CompiledField | undefined, values: readonly unknown[]): unknown {
  if (field?.spec.inner === undefined) return values.length === 1 ? values[0] : values;
  if (values.length === 1 && (Array.isArray(values[0]) || values[0] === null)) return values[0];
  return values;
}

/** Creates the readers of forms that create or update records. */
export function createForms(context: FilesContext): Pick<RecordFiles, 'createForm' | 'discardForm'> {
  const { uploads, targets, store, hashes, settings, log } = context;
  const received = createPerRequestStore<string[]>('files of a form');

  function computeLimits(fields: ReadonlyMap<string, UploadTarget>): FormLimits {
    const { bodyLimit, bodyKeys } = settings.http;
    const { maxPendingPerUser } = settings.files;
    const most = Math.min(MAX_FILES, maxPendingPerUser);
    const sizes = [...fields.values()].map(({ field, rules }) => {
      const count = field.spec.inner === undefined ? 1 : Math.min(Number(field.spec.max?.value ?? most), most);
      return { count, bytes: count * rules.maxBytes };
    });
    const declared = sizes.reduce((sum, { count }) => sum + count, 0);
    const maxFiles = Math.min(most, declared);
    const isBoundByPending = maxFiles === maxPendingPerUser && maxPendingPerUser < MAX_FILES;
    return {
      maxFields: bodyKeys,
      maxFiles,
      ...(isBoundByPending && {
        maxFilesReason: `, because you can have at most ${maxPendingPerUser} uploads that no record uses yet`,
      }),
      maxFieldBytes: bodyLimit,
      maxFileBytes: (name) => {
        findTarget(fields, name);
        // The check of the content ends a larger file, with an error that names the field.
        return Number.POSITIVE_INFINITY;
      },
      maxBytes:
        bodyLimit + sizes.reduce((sum, { bytes }) => sum + bytes, 0) + (bodyKeys + maxFiles) * PART_OVERHEAD_BYTES,
    };
  }

  function findTarget(fields: ReadonlyMap<string, UploadTarget>, name: string): UploadTarget {
    const target = fields.get(name);
    if (target === undefined) throw validationError({ [name]: 'Must not be a file' });
    return target;
  }

  async function receiveFile(part: FormFile, name: string, request: AuthorizationRequest): Promise<ReceivedFormFile> {
    const { req, user } = request;
    const target = await targets.authorize(name, request);
    const uploader = identifyUploader(user, req, hashes);
    const hashesContent = req.headers['idempotency-key'] !== undefined;
    const bytes = Number(req.headers['content-length'] ?? target.rules.maxBytes);
    const announced = { name: part.name, type: part.type, bytes };
    const row = await uploads.receive(target, uploader, announced, part.stream, { hashes: hashesContent });
    received.get(req)!.push(row.id);
    return {
      field: part.field,
      value: { id: row.id, token: uploader.token },
      fingerprint: { name: row.name, sha256: row.sha256 },
    };
  }

  async function discardForm(req: IncomingMessage): Promise<void> {
    const ids = received.get(req) ?? [];
    if (ids.length === 0) return;
    // If this fails, the uploads expire later.
    await store.discard(ids).catch((error: unknown) => log.warn({ err: error }, 'uploads were not discarded'));
  }

  async function readRecordForm(resource: CompiledResource, request: AuthorizationRequest) {
    const fields = targets.ofResource(resource.name);
    const values = new Map<string, unknown[]>();
    const fingerprints: [string, unknown][] = [];
    const add = (name: string, value: unknown, fingerprint: unknown) => {
      values.set(name, [...(values.get(name) ?? []), value]);
      fingerprints.push([name, fingerprint]);
    };
    received.set(request.req, []);
    try {
      for await (const part of readForm(request.req, computeLimits(fields))) {
        if (part.kind === 'file') {
          findTarget(fields, part.field);
          const { field, value, fingerprint } = await receiveFile(part, `${resource.name}.${part.field}`, request);
          add(field, value, fingerprint);
        } else {
          const field = resource.field.get(part.name);
          add(part.name, field === undefined ? part.value : parseFormValue(field, part.value), part.value);
        }
      }
    } catch (error) {
      await discardForm(request.req);
      throw error;
    }
    const combined = [...values].map(
      ([name, parts]) => [name, combineValues(resource.field.get(name), parts)] as const,
    );
    return {
      values: Object.fromEntries(combined),
      fingerprint: fingerprints,
      discard: () => discardForm(request.req),
    };
  }

  return {
    discardForm,
    createForm: (resource, view): Pick<Route, 'form' | 'formShape'> => ({
      form: (request) => readRecordForm(resource, request),
      formShape: describeForm(resource, view),
    }),
  };
}

/** Describes the form of a resource for the OpenAPI document: its file fields, and that every other field is a text. */
function describeForm(resource: CompiledResource, view: 'create' | 'update'): Record<string, unknown> {
  const accepted = resource.fields.filter(
    ({ closed, holdsFiles, spec }) => holdsFiles && !closed && (view === 'create' || !spec.immutable),
  );
  const properties = accepted.map(({ name, spec }) => {
    const file = { type: 'string', contentMediaType: 'application/octet-stream' };
    return [name, spec.inner === undefined ? file : { type: 'array', items: file }] as const;
  });
  return {
    schema: {
      type: 'object',
      description:
        'The fields of the JSON body as form fields: texts as they are, other values as JSON. File fields can hold the file itself.',
      properties: Object.fromEntries(properties),
      additionalProperties: true,
    },
  };
}
