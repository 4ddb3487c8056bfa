import type { BinaryBody, FormFileRules, MultipartBody } from '../../declare/body.ts';
import type { Components, Json } from './schema.ts';
import { shapeSchema } from './shape.ts';

/** The schema of bytes: in OpenAPI 3.1 a binary body has no type, only its media type. */
const BYTES: Json = {};

function describeFile({ maxBytes, types }: FormFileRules, isList: boolean): Json {
  const file = { type: 'string', contentMediaType: types?.[0] ?? 'application/octet-stream' };
  const description = `At most ${maxBytes} bytes.`;
  return isList ? { type: 'array', items: file, description } : { ...file, description };
}

function createFormSchema(body: MultipartBody, name: string, components: Components): Json {
  const fields: Json =
    body.fields === undefined ? { type: 'object' } : shapeSchema(body.fields, 'input', `${name}Fields`, components);
  const files = Object.entries(body.files);
  const isList = (body.maxFiles ?? files.length) > files.length;
  const required = files.filter(([, rules]) => rules.required).map(([field]) => field);
  const properties = Object.fromEntries(files.map(([field, rules]) => [field, describeFile(rules, isList)]));
  const ofFiles = { type: 'object', properties, ...(required.length === 0 ? {} : { required }) };
  // The fields do not know the files, so a closed schema of the fields must not apply to the whole form.
  if (typeof fields.properties !== 'object') return body.fields === undefined ? ofFiles : { allOf: [fields, ofFiles] };
  const allRequired = [...((fields.required as string[] | undefined) ?? []), ...required];
  return {
    ...fields,
    properties: { ...(fields.properties as Json), ...properties },
    ...(allRequired.length === 0 ? {} : { required: allRequired }),
  };
}

/** Creates the description of a request body that the route streams: bytes, or a form with files. */
export function createStreamedBody(body: BinaryBody | MultipartBody, name: string, components: Components): Json {
  if (body.kind === 'binary') {
    const types = body.types ?? ['*/*'];
    const description = `At most ${body.maxBytes} bytes.`;
    return {
      requestBody: {
        description,
        required: true,
        content: Object.fromEntries(types.map((type) => [type, { schema: BYTES }])),
      },
    };
  }
  const encoding = Object.fromEntries(
    Object.entries(body.files)
      .filter(([, { types }]) => types !== undefined)
      .map(([field, { types }]) => [field, { contentType: types!.join(', ') }]),
  );
  const schema = createFormSchema(body, name, components);
  const content = { schema, ...(Object.keys(encoding).length === 0 ? {} : { encoding }) };
  return { requestBody: { required: true, content: { 'multipart/form-data': content } } };
}
