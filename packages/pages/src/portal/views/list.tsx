import { Health, StatusBadge } from '../parts/endpoint-state.tsx';
import { Loaded, Title } from '../parts/page.tsx';
import { useData } from '../parts/requests.ts';
import type { Endpoint } from '../responses.ts';
import { hrefOf } from '../window.ts';

const describeEvents = (events: string[]) => (events.includes('*') ? 'All events' : events.join(', '));

function EndpointCard({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, description, events } = endpoint;
  return (
    <li class="card endpoint">
      <div class="row spread">
        <h2>
          <a href={hrefOf(id)}>{url}</a>
        </h2>
        <StatusBadge endpoint={endpoint} />
      </div>
      {description && <p>{description}</p>}
      <p class="events">{describeEvents(events)}</p>
      <Health endpoint={endpoint} />
    </li>
  );
}

function Welcome() {
  return (
    <div class="blank card">
      <h2>Receive events as they happen</h2>
      <p>
        An endpoint is a URL of your server. When a chosen event happens, your endpoint receives a signed HTTP request.
      </p>
      <ol class="steps">
        <li>
          <strong>Add an endpoint</strong> and choose its events. You see the data of each event beforehand.
        </li>
        <li>
          <strong>Verify the signature</strong> with the secret of the endpoint. The code is ready to copy.
        </li>
        <li>
          <strong>Send a test</strong> and see the response of your server.
        </li>
      </ol>
      <a class="button primary" href={hrefOf('new')}>
        Add an endpoint
      </a>
    </div>
  );
}

/** The endpoints of the user with their health. */
export function EndpointList({ maxEndpoints }: { maxEndpoints: number }) {
  const endpoints = useData<Endpoint[]>('');
  const count = endpoints.data?.length ?? 0;
  const isFull = endpoints.data !== undefined && count >= maxEndpoints;
  return (
    <>
      <div class="row spread top">
        <Title>Webhooks</Title>
        {count > 0 && !isFull && (
          <a class="button primary" href={hrefOf('new')}>
            Add an endpoint
          </a>
        )}
      </div>
      <Loaded from={endpoints}>
        {(list) =>
          list.length === 0 ? (
            <Welcome />
          ) : (
            <ul class="endpoints">
              {list.map((each) => (
                <EndpointCard key={each.id} endpoint={each} />
              ))}
            </ul>
          )
        }
      </Loaded>
      {isFull && <p class="soft">You have reached the maximum number of endpoints. Delete one to add another.</p>}
    </>
  );
}
