import type { NextFunction, Request, Response } from 'express';

const LIMIT = 1_048_576;

/** A middleware that reads a JSON body of at most 1 MB, like `express.json` without its other features. */
export function jsonBody(req: Request, res: Response, next: NextFunction): void {
  if (req.method !== 'POST' && req.method !== 'PATCH') {
    next();
    return;
  }
  const chunks: Buffer[] = [];
  let size = 0;
  const refuse = (status: number, code: string) => res.status(status).json({ error: { code } });
  req.on('data', (chunk: Buffer) => {
    size += chunk.length;
    if (size <= LIMIT) chunks.push(chunk);
  });
  req.on('error', next);
  req.on('end', () => {
    if (size > LIMIT) {
      refuse(413, 'PAYLOAD_TOO_LARGE');
      return;
    }
    try {
      req.body = JSON.parse(chunks.length === 1 ? chunks[0]!.toString() : Buffer.concat(chunks, size).toString());
    } catch {
      refuse(400, 'INVALID_JSON');
      return;
    }
    next();
  });
}
