/** Returns the text in single quotes of a shell. */
const quoteForShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

function nodeSnippet(variable: string, key: string): string {
  return `// npm install @belfry/verify-webhook express; ${variable}=${key}
import express from 'express';
import { createWebhookHandler } from '@belfry/verify-webhook/express';

const app = express();

// The signature covers the raw body, so no JSON parser may run first.
app.post('/hooks', createWebhookHandler({
  secret: process.env.${variable},
  onOther: (event) => console.log(event.type, event.data),
}));

app.listen(3000);
`;
}

function pythonSnippet(secret: string): string {
  return `# Without dependencies; WEBHOOK_SECRET=${secret}
import base64, hashlib, hmac, os, time

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))

def is_authentic(headers, body: bytes) -> bool:
    """headers: with names in lower case; body: the raw body, before any parsing"""
    message_id, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    if abs(time.time() - int(timestamp)) > 300:
        return False
    signed = f"{message_id}.{timestamp}.".encode() + body
    expected = "v1," + base64.b64encode(hmac.new(KEY, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(expected, one) for one in headers["webhook-signature"].split(" "))
`;
}

function shellSnippet(secret: string, url: string): string {
  return `# Signs a message as the server does, and sends it to your endpoint.
WEBHOOK_SECRET=${quoteForShell(secret)}
URL=${quoteForShell(url)}
BODY='{"type":"webhook.test","timestamp":"2030-01-01T00:00:00.000Z","data":{}}'
ID=msg_1
TIMESTAMP=$(date +%s)
KEY=$(printf %s "\${WEBHOOK_SECRET#whsec_}" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')
SIGNATURE=$(printf %s "$ID.$TIMESTAMP.$BODY" | openssl dgst -sha256 -mac HMAC -macopt "hexkey:$KEY" -binary | openssl base64 -A)
curl -i "$URL" -H 'content-type: application/json' -H "webhook-id: $ID" \\
  -H "webhook-timestamp: $TIMESTAMP" -H "webhook-signature: v1,$SIGNATURE" -d "$BODY"
`;
}

export const LANGUAGES = ['Node.js', 'Python', 'curl, OpenSSL'] as const;

export type Language = (typeof LANGUAGES)[number];

/**
 * Code that verifies the signatures of an endpoint, by language.
 *
 * @param secret the secret, while it is known; otherwise a placeholder stands for it
 */
export function createSnippets(
  { url, publicKey }: { url: string; publicKey?: string },
  secret = 'whsec_…',
): Record<Language, string> {
  return {
    'Node.js':
      publicKey === undefined ? nodeSnippet('WEBHOOK_SECRET', secret) : nodeSnippet('WEBHOOK_PUBLIC_KEY', publicKey),
    Python: pythonSnippet(secret),
    'curl, OpenSSL': shellSnippet(secret, url),
  };
}

/** Commands that fetch the messages of a polled endpoint. @param origin of the app */
export function createPollSnippet(origin: string, endpointId: string): string {
  return `export BELFRY_TOKEN=svc_ak_…
npx belfry listen http://localhost:3000/hooks --app ${origin} --endpoint ${endpointId}

# Or without Belfry: wait up to 30 seconds for messages, then acknowledge them with "meta.next".
curl "${origin}/api/webhooks/${endpointId}/poll?wait=30" -H "authorization: Bearer $BELFRY_TOKEN"
curl "${origin}/api/webhooks/${endpointId}/ack" -H "authorization: Bearer $BELFRY_TOKEN" \\
  -H 'content-type: application/json' -d '{"cursor":"…"}'
`;
}
