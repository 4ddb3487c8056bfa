/** The members of a body as controls of a form. Nothing here depends on a browser. */

import { type Json, type OpenApiDocument, type Schema, type SimpleSchema, simplify } from '../document.ts';
import { typeText } from '../schema-text.ts';
import { texts } from '../texts.ts';

/** What a control is for: a parameter, or a member of a body. */
export interface Part extends SimpleSchema {
  name: string;
  isRequired: boolean;
  description?: string | undefined;
}

/** The members of a body that a form can offer, or undefined if only JSON describes it. */
export function formMembers(schema: Schema, document: OpenApiDocument): Part[] | undefined {
  const { schema: root, alternatives } = simplify(schema, document);
  if (alternatives.length > 0 || root.properties === undefined) return undefined;
  const required = new Set(root.required);
  return Object.entries(root.properties)
    .map(([name, given]) => ({ name, ...simplify(given, document), isRequired: required.has(name) }))
    .filter((member) => member.schema.readOnly !== true);
}

/** Whether a control offers `null`. In a text field it would be a text. */
export const offersNull = ({ schema, isNullable }: SimpleSchema): boolean =>
  isNullable && (schema.enum !== undefined || schema.type !== 'string');

/**
 * Converts the text of a control to the value of a member. An empty text leaves the member out.
 *
 * @throws SyntaxError for invalid JSON
 */
export function readMember(member: SimpleSchema, text: string): Json | undefined {
  const { schema, alternatives } = member;
  if (text === '') return undefined;
  if (text === 'null' && offersNull(member)) return null;
  if (alternatives.length > 0) {
    // A date is a text or a number, and most texts are not JSON.
    return /^[[{"]|^(-?\d+(\.\d+)?|true|false|null)$/.test(text) ? JSON.parse(text) : text;
  }
  switch (schema.type) {
    case 'string':
      return text;
    case 'integer':
    case 'number': {
      const number = Number(text);
      return Number.isNaN(number) ? text : number;
    }
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    default:
      if (schema.enum?.includes(text)) return text;
      return JSON.parse(text);
  }
}

/** The text of a member's value in its control. */
export function writeMember(value: unknown): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

type ControlKind = 'choice' | 'boolean' | 'password' | 'file' | 'number' | 'text' | 'json';

/** The kind of control for a member or parameter. */
export function controlOf({ schema, alternatives }: SimpleSchema): ControlKind {
  if (schema.enum !== undefined) return 'choice';
  if (schema.type === 'boolean') return 'boolean';
  if (schema.format === 'password') return 'password';
  if (schema.contentMediaType !== undefined || schema.items?.contentMediaType !== undefined) return 'file';
  if (alternatives.length > 0) return 'text';
  if (schema.type === 'integer' || schema.type === 'number') return 'number';
  return schema.type === 'string' || typeText(schema) === texts.schema.any ? 'text' : 'json';
}
