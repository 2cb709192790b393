// Takes the token out of the address of a page that was opened with it, once the user is signed in.
"use strict";
if (new URLSearchParams(location.hash.slice(1)).has("token")) history.replaceState(null, "", location.pathname + location.search);
