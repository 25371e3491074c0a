// What an application written with Relay has in its components. relay-compiler reads this file; nothing runs it.
import { graphql } from 'relay-runtime';

export const scripts = graphql`
  fragment agentScripts on Agent
  @argumentDefinitions(count: { type: "Int", defaultValue: 2 }, cursor: { type: "Cursor" })
  @refetchable(queryName: "agentScriptsRefetchQuery") {
    name
    scripts(first: $count, after: $cursor) @connection(key: "agent_scripts") {
      edges {
        node {
          id
          ...agentScript
        }
      }
    }
  }
`;

export const script = graphql`
  fragment agentScript on Script {
    name
    description
    parameters
    owner {
      __typename
      ... on Agent {
        name
      }
    }
    latestVersion {
      number
      sourceHash
      author {
        __typename
        ... on ApiKey {
          name
        }
        ... on RunStep {
          call {
            status
          }
        }
      }
    }
  }
`;

export const query = graphql`
  query agentQuery($id: ID!) {
    agent(id: $id) {
      ...agentScripts
    }
    node(id: $id) {
      __typename
      ...agentScripts @alias(as: "asAgent")
    }
  }
`;

export const save = graphql`
  mutation agentSaveMutation($input: AgentScriptSaveInput!) {
    agentScriptSave(input: $input) {
      script {
        ...agentScript
      }
      userErrors {
        code
        message
        path
        ... on CapReached {
          limit
        }
        ... on VersionConflict {
          current {
            number
          }
        }
        ... on NameTaken {
          takenBy
        }
        ... on SchemaInvalid {
          pointer
          keyword
        }
      }
    }
  }
`;

export const output = graphql`
  subscription agentOutputSubscription($call: ID!, $after: Cursor) {
    callOutput(call: $call, after: $after) {
      __typename
      ... on OutputChunk {
        cursor
        offset
        stream
        text
      }
      ... on CallFinished {
        cursor
        call {
          status
          exitCode
        }
      }
      ... on StreamGap {
        cursor
        reason
      }
    }
  }
`;
