// Receives a body, parses it and refuses it: the minimum work of any server that reads JSON.
import { reportReady, startHttpServer } from '../processes/child.ts';

const url = await startHttpServer((req, res) => {
  const chunks: Buffer[] = [];
  req.on('data', (chunk: Buffer) => chunks.push(chunk));
  req.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString());
    res.statusCode = 422;
    res.end('{}');
  });
});
reportReady(url);
