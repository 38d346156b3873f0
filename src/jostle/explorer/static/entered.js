// Keep what the explorer's scripts send along. It is kept for this host and this port, which a cookie is not.
"use strict";

localStorage.setItem("jostle", document.querySelector('meta[name="secret"]').content);
location.replace("/"); // the link that was used is not in the way of the Back button
