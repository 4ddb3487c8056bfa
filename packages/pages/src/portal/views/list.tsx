import { richText } from '../../kit/rich-text.ts';
import { Health, StatusBadge } from '../parts/endpoint-state.tsx';
import { Loaded, Title } from '../parts/page.tsx';
import { useData } from '../parts/requests.ts';
import type { Endpoint } from '../responses.ts';
import { texts } from '../texts.ts';
import { hrefOf } from '../window.ts';

const describeEvents = (events: string[]) => (events.includes('*') ? texts.list.allEvents : events.join(', '));

function EndpointCard({ endpoint }: { endpoint: Endpoint }) {
  const { id, url, description, events } = endpoint;
  return (
    <li class="card endpoint">
      <div class="row spread">
        <h2>
          <a href={hrefOf(id)}>{url ?? texts.poll.title}</a>
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
  const { heading, text, ...steps } = texts.list.welcome;
  return (
    <div class="blank card">
      <h2>{heading}</h2>
      <p>{text}</p>
      <ol class="steps">
        <li>{richText(steps.add, { name: <strong>{steps.addName}</strong> })}</li>
        <li>{richText(steps.verify, { name: <strong>{steps.verifyName}</strong> })}</li>
        <li>{richText(steps.test, { name: <strong>{steps.testName}</strong> })}</li>
      </ol>
      <a class="button primary" href={hrefOf('new')}>
        {texts.addEndpoint}
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
        <Title>{texts.list.heading}</Title>
        {count > 0 && !isFull && (
          <a class="button primary" href={hrefOf('new')}>
            {texts.addEndpoint}
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
      {isFull && <p class="soft">{texts.list.full}</p>}
    </>
  );
}
