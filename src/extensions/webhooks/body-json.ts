/**
 * The body of delivery `d` as jsonb. What a project publishes may have NUL and halves of characters in its texts, as JSON escapes
 * them: Postgres reads no JSON with those, so each is a question mark here.
 */
export const BODY_JSON = String.raw`case when strpos(d.body, '\u') = 0 then d.body
    else regexp_replace(d.body, '(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})', '\1?', 'g') end::jsonb`;
