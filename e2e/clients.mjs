// The clients that people use, each behind the same few functions:
//   query(document, variables), mutate(document, variables)   answer the data, or throw
//   subscribe(document, variables, onData)                    ends with the subscription; throws what the client reports of a cut connection
//   close()
import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, gql } from '@apollo/client';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { Client as UrqlClient, fetchExchange, subscriptionExchange } from '@urql/core';
import { OperationTypeNode } from 'graphql';
import { createClient as createSSEClient } from 'graphql-sse';
import { createClient as createWSClient } from 'graphql-ws';
import { onEnd, pipe, subscribe as listen } from 'wonka';
import WebSocket from 'ws';

const bearer = (secret) => ({ Authorization: `Bearer ${secret}` });

/** A graphql-ws client. Without retries a cut connection is an error of its operations. */
export function graphqlWS(url, secret, options = {}) {
  return createWSClient({
    url,
    webSocketImpl: WebSocket,
    connectionParams: bearer(secret),
    retryAttempts: 0,
    ...options,
  });
}

/** What a client reports, as an Error. */
function asError(reported) {
  if (reported instanceof Error) return reported;
  const first = Array.isArray(reported) ? reported[0] : reported;
  const error = new Error(first?.message || first?.reason || JSON.stringify(first) || String(first));
  return Object.assign(error, { graphql: Array.isArray(reported) ? reported : undefined, code: first?.code });
}

/** Runs one operation on a client that has subscribe(request, sink), as graphql-ws and graphql-sse have it. */
export function run(client, query, variables, onData) {
  return new Promise((resolve, reject) => {
    let stop = null;
    const fail = (error) => {
      reject(asError(error));
      queueMicrotask(() => stop?.());
    };
    stop = client.subscribe(
      { query, variables },
      {
        next(result) {
          if (result.errors) return fail(result.errors);
          try {
            onData(result.data);
          } catch (error) {
            fail(error);
          }
        },
        error: fail,
        complete: resolve,
      },
    );
  });
}

async function one(client, query, variables) {
  let data;
  await run(client, query, variables, (d) => {
    data = d;
  });
  return data;
}

/** The clients by name. Those that come back by themselves send their variables anew each time, and so go on from the latest `after` in them. */
export const clients = {
  'graphql-ws': ({ ws, secret }) => {
    const client = graphqlWS(ws, secret, { retryAttempts: 5, retryWait: async () => {} });
    return {
      comesBack: true,
      query: (q, v) => one(client, q, v),
      mutate: (q, v) => one(client, q, v),
      subscribe: (q, v, onData) => run(client, q, v, onData),
      close: () => client.dispose(),
    };
  },

  'graphql-sse': ({ http, secret }) => {
    const client = createSSEClient({ url: http, headers: bearer(secret), retryAttempts: 5, retry: async () => {} });
    return {
      comesBack: true,
      query: (q, v) => one(client, q, v),
      mutate: (q, v) => one(client, q, v),
      subscribe: (q, v, onData) => run(client, q, v, onData),
      close: () => client.dispose(),
    };
  },

  'urql over WebSocket': ({ http, ws, secret }) => {
    const socket = graphqlWS(ws, secret);
    const forward = subscriptionExchange({
      forwardSubscription: (request) => ({
        subscribe: (sink) => ({ unsubscribe: socket.subscribe({ ...request, query: request.query ?? '' }, sink) }),
      }),
    });
    return urql({ http, secret, exchanges: [fetchExchange, forward], more: {}, close: () => socket.dispose() });
  },

  'urql over SSE': ({ http, secret }) =>
    urql({ http, secret, exchanges: [fetchExchange], more: { fetchSubscriptions: true }, close: () => {} }),

  Apollo: ({ http, ws, secret }) => {
    const socket = graphqlWS(ws, secret);
    const client = new ApolloClient({
      cache: new InMemoryCache(),
      link: ApolloLink.split(
        ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
        new GraphQLWsLink(socket),
        new HttpLink({ uri: http, headers: bearer(secret) }),
      ),
    });
    return {
      query: async (q, variables) => (await client.query({ query: gql(q), variables, fetchPolicy: 'network-only' })).data,
      mutate: async (q, variables) => (await client.mutate({ mutation: gql(q), variables })).data,
      subscribe: (q, variables, onData) =>
        new Promise((resolve, reject) => {
          const subscription = client.subscribe({ query: gql(q), variables, fetchPolicy: 'no-cache' }).subscribe({
            next({ data, error }) {
              if (error) return reject(error);
              try {
                onData(data);
              } catch (failure) {
                reject(failure);
                queueMicrotask(() => subscription.unsubscribe());
              }
            },
            error: (error) => reject(asError(error)),
            complete: resolve,
          });
        }),
      close: async () => {
        client.stop();
        await socket.dispose();
      },
    };
  },
};

function urql({ http, secret, exchanges, more, close }) {
  const client = new UrqlClient({ url: http, exchanges, fetchOptions: { headers: bearer(secret) }, preferGetMethod: false, ...more });
  const answer = async (source) => {
    const { data, error } = await source.toPromise();
    if (error) throw error;
    return data;
  };
  return {
    query: (q, v) => answer(client.query(q, v)),
    mutate: (q, v) => answer(client.mutation(q, v)),
    subscribe: (q, variables, onData) =>
      new Promise((resolve, reject) => {
        let last;
        const { unsubscribe } = pipe(
          client.subscription(q, { ...variables }),
          onEnd(resolve),
          listen(({ data, error }) => {
            if (error) return reject(error);
            if (data === last) return; // urql tells the last result once more, with hasNext false, when the subscription has ended
            last = data;
            try {
              onData(data);
            } catch (failure) {
              reject(failure);
              queueMicrotask(() => unsubscribe());
            }
          }),
        );
      }),
    close,
  };
}
